// Smartsearch is a tool: it gets its parameters and its context as one JSON object on stdin, and
// prints what it has found.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// page is what a book has to say.
type page struct {
	Site  string `json:"-"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// books are all that is searched.
var books = []page{
	{"garden.example", "Turnips: sowing and harvest", "https://garden.example/turnips"},
	{"garden.example", "Soil for roots, and for turnips", "https://garden.example/soil"},
	{"garden.example", "Apples", "https://garden.example/apples"},
	{"kitchen.example", "Turnips, braised", "https://kitchen.example/turnips"},
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// request is the JSON on standard input: the parameters, and the agent context with the events of
// the selectors of the blueprint.
type request struct {
	Query   string `json:"query"`
	Limit   int    `json:"limit"`
	Context struct {
		Page *struct {
			Domain string `json:"domain"`
		} `json:"browser_page_context"`
	} `json:"context"`
}

// result is what is printed.
type result struct {
	Query   string `json:"query"`
	Results []page `json:"results"`
}

func run(in io.Reader, out io.Writer) error {
	var r request
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("the parameters: %w", err)
	}
	site, query := "", r.Query
	if r.Context.Page != nil {
		site = r.Context.Page.Domain
		query += " site:" + site
	}
	found := result{Query: query, Results: []page{}}
	for _, p := range books {
		if (site == "" || p.Site == site) && strings.Contains(strings.ToLower(p.Title), strings.ToLower(r.Query)) &&
			len(found.Results) < r.Limit {
			found.Results = append(found.Results, p)
		}
	}
	return json.NewEncoder(out).Encode(found)
}
