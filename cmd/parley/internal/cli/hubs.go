package cli

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/parleyhub/parley"
)

// probeTimeout bounds how long one of several hubs is waited for while there are others.
const probeTimeout = 2 * time.Second

// ChooseHub returns the hub for a single request outside of the sdk. Of several hubs, in random
// order, it prefers one that is ready, and then one that answers.
func ChooseHub(ctx context.Context, client *http.Client) (*url.URL, error) {
	all, err := ParseHubURLs()
	if err != nil {
		return nil, err
	}
	if len(all) == 1 {
		return all[0], nil
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var answers *url.URL
	for _, u := range all {
		within, cancel := context.WithTimeout(ctx, probeTimeout)
		status, said, probed := GetRoute(within, client, u, "/readyz")
		cancel()
		switch {
		case probed == nil && status == http.StatusOK && said == "ok":
			return u, nil
		case probed == nil:
			answers = u
		case ctx.Err() != nil:
			return nil, ExplainTimeout(ctx, probed)
		}
		err = probed
	}
	if answers != nil {
		return answers, nil
	}
	return nil, fmt.Errorf("%w: none of %d hubs answers: %w", parley.ErrUnavailable, len(all), err)
}

// GetRoute returns the status and the first bytes of a plain route.
func GetRoute(ctx context.Context, client *http.Client, u *url.URL, route string) (status int, text string, err error) {
	resp, err := client.Do(NewRouteRequest(ctx, u, route))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 512))
	return resp.StatusCode, strings.TrimSpace(string(body)), err
}
