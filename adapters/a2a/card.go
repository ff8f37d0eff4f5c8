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

// The extensions by which the extended card says more.
const (
	// ParametersExtension has {"parameters_schema", "output_schema"}: what the data part of a first message must match, and what that of the artifact does.
	ParametersExtension = extensions + "parameters/v1"
	// ParticipantsExtension has {"participants": [{"id", "kind", "role"}]}: who sits with the caller.
	ParticipantsExtension = extensions + "participants/v1"
)

// cardMaxAge is how long, in seconds, a card may be kept without a look at its ETag.
const cardMaxAge = 300

// oldCardPath is the path of the card in A2A 0.2.
const oldCardPath = "/.well-known/agent.json"

// Cards are the public documents by their paths, which need no token: the card of each agent, and at the root that of the first.
func (s *Server) Cards() map[string]http.Handler {
	cards := map[string]http.Handler{}
	for i := range s.opts.Agents {
		agent := &s.opts.Agents[i]
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serveCard(agent, w, r) })
		cards[basePath+agent.Name+cardPath] = h
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

// serveCard gives the card of 1.0 to who says A2A-Version: 1.0, and to others one that clients of 0.3 can read as well.
func (s *Server) serveCard(agent *Agent, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "a card is read by GET", http.StatusMethodNotAllowed)
		return
	}
	render := unionCard
	if v, err := requestedVersion(r); err == nil && v == version10 {
		render = modernCard
	}
	raw, err := render(s.card(agent, s.baseURL(r)))
	if err != nil {
		s.log.Error("a card cannot be encoded", "agent", agent.Name, "error", err)
		http.Error(w, "the card cannot be given; the log says why", http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(raw)
	h := w.Header()
	h.Set("Content-Type", mediaJSON)
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", cardMaxAge))
	h.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	h.Set("Vary", a2a.SvcParamVersion)
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", s.began, bytes.NewReader(raw)) // which looks at If-None-Match
}

// The names of the security schemes.
const (
	schemeBearer a2a.SecuritySchemeName = "bearer"
	schemeOpenID a2a.SecuritySchemeName = "openIdConnect"
)

// card is the public card of an agent.
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
				{URI: CursorExtension, Description: "Tasks and updates say in their metadata how far in the log they are; the ids of a stream's events are the same numbers, and Last-Event-ID goes on behind one."},
				{URI: AuthorExtension, Description: "Messages say in their metadata who among the participants has said them."},
				{URI: TraceExtension, Description: "Updates say in their metadata what the agent does meanwhile, to who asks for it and may see it."},
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
		card.SecuritySchemes = a2a.NamedSecuritySchemes{schemeBearer: a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "A token of the hub."}}
		card.SecurityRequirements = a2a.SecurityRequirementsOptions{{schemeBearer: {}}}
	}
	if s.opts.Bearer && s.opts.Issuer != "" {
		card.SecuritySchemes[schemeOpenID] = a2a.OpenIDConnectSecurityScheme{OpenIDConnectURL: strings.TrimSuffix(s.opts.Issuer, "/") + "/.well-known/openid-configuration"}
		card.SecurityRequirements = append(card.SecurityRequirements, a2a.SecurityRequirements{schemeOpenID: {}})
	}
	return card
}

// interfaces are those of an agent, the best first. The address of HTTP+JSON is the same in both versions: clients of 0.3 add /v1 themselves.
func interfaces(at string) []*a2a.AgentInterface {
	var all []*a2a.AgentInterface
	for _, v := range []version{version10, version03} {
		for _, binding := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
			all = append(all, &a2a.AgentInterface{URL: at, ProtocolBinding: binding, ProtocolVersion: a2a.ProtocolVersion(v)})
		}
	}
	return all
}

// skills are those of an agent, or one that says what it is. Each has tags, which the protocol wants.
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

// modernCard is a card as 1.0 says it. The library has the scopes of a requirement as a list; in the JSON of the Protocol Buffers they are an object with one.
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

// unionCard is a card that clients of 1.0 and of 0.3 can read. It says what is required in the words of 0.3 alone, since there are libraries for each of the two forms
// that 1.0 is written in which cannot read the other.
func unionCard(card *a2a.AgentCard) (json.RawMessage, error) {
	producer, is := a2av0.NewStaticAgentCardProducer(card).(interface {
		CardJSON(context.Context) ([]byte, error)
	})
	if !is {
		return nil, errors.New("the library gives no JSON of a card")
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

// unionSchemes are the schemes with the members of both versions. The library's own union has names that its parser of 1.0 does not know.
func unionSchemes(union json.RawMessage, schemes a2a.NamedSecuritySchemes) (map[string]map[string]json.RawMessage, error) {
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

// withMember sets a member of a JSON object; nil takes it out.
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

// maxSchemaInSkill bounds the schema that stands in the description of a skill; longer ones stand in the extension alone.
const maxSchemaInSkill = 4 << 10

// extendedCard is the card for who is authenticated: the public one, and who takes part, or what parameters the agent takes. It says nothing of what is required to
// call, which has been met.
func (s *Server) extendedCard(ctx context.Context, c *caller, base string) (*a2a.AgentCard, error) {
	card := s.card(c.agent, base)
	card.SecurityRequirements = nil
	if c.agent.Scenario != nil {
		extend(card, ParticipantsExtension, "Who sits with the caller.", map[string]any{"participants": seats(c.agent.Scenario)})
		return card, nil
	}
	found, err := c.client.ListAgents(ctx, &parley.ListAgentsParams{})
	if errors.Is(err, parley.ErrForbidden) {
		return card, nil // the token may speak and not look around
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
	extend(card, ParametersExtension, "What the data part of a first message must match, and what that of the artifact does.", params)
	if len(schema) <= maxSchemaInSkill {
		card.Skills[0].Description += "\n\nSend one data part that matches this JSON Schema: " + string(schema)
	}
	return card, nil
}

func extend(card *a2a.AgentCard, uri, description string, params map[string]any) {
	card.Capabilities.Extensions = append(card.Capabilities.Extensions, a2a.AgentExtension{URI: uri, Description: description, Params: params})
}

// seats are the participants of a scenario as others may know them.
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
