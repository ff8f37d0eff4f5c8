package a2a

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	"github.com/parleyhub/parley"
)

// The extensions of the extended card.
const (
	// ParametersExtension has {"parameters_schema", "output_schema"}: the JSON Schemas of the data
	// part of a first message, and of the data part of the artifact.
	ParametersExtension = extensions + "parameters/v1"
	// ParticipantsExtension has {"participants": [{"id", "kind", "role"}]}: the other participants.
	ParticipantsExtension = extensions + "participants/v1"
)

// cardMaxAge is the time, in seconds, for which a card may be cached without revalidation.
const cardMaxAge = 300

// oldCardPath is the path of the card in A2A 0.2.
const oldCardPath = "/.well-known/agent.json"

// Cards returns the public documents by path, which need no token: the card of each agent, and the
// card of the first agent at the root.
func (s *Server) Cards() map[string]http.Handler {
	cards := map[string]http.Handler{}
	for i := range s.opts.Agents {
		agent := &s.opts.Agents[i]
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serveCard(agent, w, r) })
		cards[basePath+agent.Name+cardPath] = h
		cards[basePath+agent.Name+oldCardPath] = http.HandlerFunc(redirectCard)
		if i == 0 {
			cards[cardPath], cards[oldCardPath] = h, http.HandlerFunc(redirectCard)
		}
	}
	return cards
}

// redirectCard redirects to the card. The location is relative, for a proxy that serves the hub below a path.
func redirectCard(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", "agent-card.json")
	w.WriteHeader(http.StatusPermanentRedirect)
}

// serveCard returns the card of version 1.0 to clients that send A2A-Version: 1.0. Other clients
// receive one that clients of 0.3 can read, too.
func (s *Server) serveCard(agent *Agent, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed (expected: GET)", http.StatusMethodNotAllowed)
		return
	}
	render := unionCard
	if v, err := requestedVersion(r); err == nil && v == version10 {
		render = modernCard
	}
	raw, err := render(s.card(agent, s.baseURL(r)))
	if err != nil {
		s.log.Error("cannot encode a card", "agent", agent.Name, "error", err)
		http.Error(w, "the card cannot be encoded; see the log of the hub", http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(raw)
	h := w.Header()
	h.Set("Content-Type", mediaJSON)
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", cardMaxAge))
	h.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	h.Set("Vary", a2a.SvcParamVersion)
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", s.created, bytes.NewReader(raw)) // handles If-None-Match
}

// The names of the security schemes.
const (
	schemeBearer a2a.SecuritySchemeName = "bearer"
	schemeOpenID a2a.SecuritySchemeName = "openIdConnect"
)

// card returns the public card of an agent.
func (s *Server) card(agent *Agent, base string) *a2a.AgentCard {
	title := cmp.Or(agent.Title, agent.Name)
	card := &a2a.AgentCard{
		Name:                title,
		Description:         cmp.Or(agent.Description, title),
		Version:             cmp.Or(agent.Version, s.opts.Version, "0"),
		SupportedInterfaces: interfaces(base + basePath + agent.Name),
		Skills:              skills(agent),
		DefaultInputModes:   slices.Clone(agent.InputModes),
		DefaultOutputModes:  slices.Clone(agent.OutputModes),
		Capabilities: a2a.AgentCapabilities{
			Streaming: true, ExtendedAgentCard: true, PushNotifications: s.opts.Push != nil,
			Extensions: []a2a.AgentExtension{
				{URI: CursorExtension, Description: "The metadata of tasks and updates has their position in the log. The event " +
					"ids of streams are the same numbers, and Last-Event-ID resumes a stream."},
				{URI: AuthorExtension, Description: "The metadata of messages names the participant that posted them."},
				{URI: TraceExtension, Description: "The metadata of updates has the work steps of the agent, for callers that " +
					"activate this extension and may see them."},
			},
		},
	}
	if len(card.DefaultInputModes) == 0 {
		card.DefaultInputModes = []string{"text/plain", mediaJSON, "*/*"}
	}
	if len(card.DefaultOutputModes) == 0 {
		card.DefaultOutputModes = []string{"text/plain", mediaJSON}
	}
	if s.opts.Bearer {
		card.SecuritySchemes = a2a.NamedSecuritySchemes{schemeBearer: a2a.HTTPAuthSecurityScheme{Scheme: "Bearer",
			Description: "A token of the hub."}}
		card.SecurityRequirements = a2a.SecurityRequirementsOptions{{schemeBearer: {}}}
	}
	if s.opts.Bearer && s.opts.Issuer != "" {
		url := strings.TrimSuffix(s.opts.Issuer, "/") + "/.well-known/openid-configuration"
		card.SecuritySchemes[schemeOpenID] = a2a.OpenIDConnectSecurityScheme{OpenIDConnectURL: url}
		card.SecurityRequirements = append(card.SecurityRequirements, a2a.SecurityRequirements{schemeOpenID: {}})
	}
	return card
}

// interfaces returns the interfaces of an agent, best first. The address of HTTP+JSON is the same
// for both versions, because clients of 0.3 add /v1.
func interfaces(at string) []*a2a.AgentInterface {
	var all []*a2a.AgentInterface
	for _, v := range []version{version10, version03} {
		for _, binding := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
			all = append(all, &a2a.AgentInterface{URL: at, ProtocolBinding: binding, ProtocolVersion: a2a.ProtocolVersion(v)})
		}
	}
	return all
}

// skills returns the skills of an agent, or one that describes it. Each has tags, because the
// protocol requires them.
func skills(agent *Agent) []a2a.AgentSkill {
	title := cmp.Or(agent.Title, agent.Name)
	all := slices.Clone(agent.Skills)
	if len(all) == 0 {
		all = []a2a.AgentSkill{{ID: agent.Name, Name: title, Description: cmp.Or(agent.Description, title)}}
	}
	for i := range all {
		if len(all[i].Tags) == 0 {
			all[i].Tags = []string{"conversation"}
		}
	}
	return all
}

// modernCard returns a card of version 1.0. The library encodes the scopes of a requirement as a
// list; in the JSON of the Protocol Buffers they are an object with a list.
func modernCard(card *a2a.AgentCard) (json.RawMessage, error) {
	raw, err := json.Marshal(card)
	if err != nil || len(card.SecurityRequirements) == 0 {
		return raw, err
	}
	type scopes struct {
		List []string `json:"list"`
	}
	type requirement struct {
		Schemes map[a2a.SecuritySchemeName]scopes `json:"schemes"`
	}
	var all []requirement
	for _, r := range card.SecurityRequirements {
		one := requirement{Schemes: map[a2a.SecuritySchemeName]scopes{}}
		for name, s := range r {
			one.Schemes[name] = scopes{List: append([]string{}, s...)}
		}
		all = append(all, one)
	}
	return withMember(raw, "securityRequirements", all)
}

// unionCard returns a card that clients of 1.0 and 0.3 can read. It states the security
// requirements in the form of 0.3 only: version 1.0 has two forms, and for each there are libraries
// that cannot read the other.
func unionCard(card *a2a.AgentCard) (json.RawMessage, error) {
	producer, is := a2av0.NewStaticAgentCardProducer(card).(interface {
		CardJSON(context.Context) ([]byte, error)
	})
	if !is {
		return nil, errors.New("the library cannot encode a card")
	}
	raw, err := producer.CardJSON(context.Background())
	if err != nil {
		return nil, err
	}
	if raw, err = withMember(raw, "securityRequirements", nil); err != nil || len(card.SecuritySchemes) == 0 {
		return raw, err
	}
	schemes, err := unionSchemes(raw, card.SecuritySchemes)
	if err != nil {
		return nil, err
	}
	return withMember(raw, "securitySchemes", schemes)
}

// unionSchemes returns the security schemes with the members of both versions. The union of the
// library has names that its parser of 1.0 does not know.
func unionSchemes(union json.RawMessage, schemes a2a.NamedSecuritySchemes) (map[string]map[string]json.RawMessage,
	error) {
	var old struct {
		SecuritySchemes map[string]map[string]json.RawMessage `json:"securitySchemes"`
	}
	var modern map[string]map[string]json.RawMessage
	raw, err := json.Marshal(schemes)
	if err = errors.Join(err, json.Unmarshal(union, &old)); err == nil {
		err = json.Unmarshal(raw, &modern)
	}
	for name, scheme := range modern {
		for _, member := range []string{"type", "scheme", "description", "openIdConnectUrl"} {
			if v, is := old.SecuritySchemes[name][member]; is {
				scheme[member] = v
			}
		}
	}
	return modern, err
}

// withMember sets a member of a JSON object. A nil value removes it.
func withMember(object json.RawMessage, name string, value any) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	delete(members, name)
	if value != nil {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		members[name] = raw
	}
	return json.Marshal(members)
}

// maxSchemaInSkill limits the schema in the description of a skill. Longer ones are only in the
// extension.
const maxSchemaInSkill = 4 << 10

// extendedCard returns the card for authenticated callers: the public card with the participants or
// the parameters of the agent. It has no security requirements, because the caller has met them.
func (s *Server) extendedCard(ctx context.Context, c *caller, base string) (*a2a.AgentCard, error) {
	card := s.card(c.agent, base)
	card.SecurityRequirements = nil
	if c.agent.Scenario != nil {
		extend(card, ParticipantsExtension, "The other participants of the conversation.",
			map[string]any{"participants": seats(c.agent.Scenario)})
		return card, nil
	}
	found, err := c.client.ListAgents(ctx, &parley.ListAgentsParams{})
	if errors.Is(err, parley.ErrForbidden) {
		return card, nil // the token may post but not list agents
	}
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(found.Agents, func(a parley.AgentInfo) bool { return a.Name == c.agent.Speaks })
	if i < 0 || found.Agents[i].ParametersSchema == nil {
		return card, nil
	}
	schema := found.Agents[i].ParametersSchema
	params := map[string]any{"parameters_schema": schema}
	if found.Agents[i].OutputSchema != nil {
		params["output_schema"] = found.Agents[i].OutputSchema
	}
	extend(card, ParametersExtension, "JSON Schemas of the data part of a first message, and of the data part of the "+
		"artifact.", params)
	if len(schema) <= maxSchemaInSkill {
		card.Skills[0].Description += "\n\nSend one data part that matches this JSON Schema: " + string(schema)
	}
	return card, nil
}

func extend(card *a2a.AgentCard, uri, description string, params map[string]any) {
	card.Capabilities.Extensions = append(card.Capabilities.Extensions, a2a.AgentExtension{URI: uri,
		Description: description, Params: params})
}

// seats returns the participants of a scenario except the seat of the caller.
func seats(s *Scenario) []any {
	var all []any
	for _, p := range s.Params.Participants {
		if p.ID == s.Seat {
			continue
		}
		seat := map[string]any{"id": p.ID, "kind": string(p.Kind)}
		if p.Role != "" {
			seat["role"] = p.Role
		}
		all = append(all, seat)
	}
	return all
}
