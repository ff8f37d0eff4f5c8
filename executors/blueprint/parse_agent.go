package blueprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/toolnames"
)

// checkAgent checks the rules of LLM agents.
func (c *checker) checkAgent() {
	if c.file.Parameters == nil {
		c.file.Parameters = paramschema.Prompt()
	}
	c.file.AgentConfig = configOf(c.taken)
	config, faults := parley.ParseAgentConfig(c.file.AgentConfig)
	for _, f := range faults {
		path := strings.TrimPrefix(strings.TrimPrefix(f.Path, "$"), ".")
		if path == "model" && !c.Has(path) || c.Faulty(path) && path != "" {
			continue // already reported
		}
		c.At(c.nearest(path), f.Message)
	}
	if c.file.Config = config; config != nil && config.Spawns() && len(c.content.Name) > toolnames.MaxSpawnerName {
		c.fault("name", "expected at most %d bytes, because its children have the name NAME%s", toolnames.MaxSpawnerName, toolnames.ChildSuffix)
	}
	if config != nil {
		c.servers(config)
	}
	if config != nil && config.RunOptions != nil && !c.Faulty("parameters_schema") {
		c.template(config.RunOptions.UserTemplate)
	}
}

// braces matches the parts of a user_template that are not text.
var braces = regexp.MustCompile(`\{\{|\}\}|\{([^{} \t\n]+)\}`)

// template refuses the first unknown parameter in a user_template.
func (c *checker) template(text string) {
	names, closed := namesOf(c.file.Parameters)
	for _, at := range braces.FindAllStringSubmatchIndex(text, -1) {
		switch {
		case !closed || at[2] < 0 || slices.Contains(names, text[at[2]:at[3]]):
			continue
		case len(names) == 0:
			c.fault("run_options.user_template", "unexpected {name} at byte %d, because there are no parameters", at[0])
		default:
			c.fault("run_options.user_template", "unknown parameter at byte %d: expected one of %s", at[2],
				strings.Join(names, ", "))
		}
		return
	}
}

// namesOf returns the names of the parameters in a schema. closed reports whether no other names
// are allowed.
func namesOf(s *paramschema.Schema) (names []string, closed bool) {
	var top map[string]json.RawMessage
	if json.Unmarshal(s.Raw(), &top) != nil || top["$ref"] != nil || top["patternProperties"] != nil {
		return nil, false
	}
	return s.Properties(), string(top["additionalProperties"]) == "false"
}

// nearest returns the path, or that of the nearest existing parent.
func (c *checker) nearest(path string) string {
	for path != "" && !c.Has(path) {
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return path
}

// configOf returns the agent config members of a file, unchanged.
func configOf(taken json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(taken))
	_, err := dec.Token()
	config := []byte{'{'}
	for err == nil && dec.More() {
		var key json.Token
		var value json.RawMessage
		if key, err = dec.Token(); err == nil {
			err = dec.Decode(&value)
		}
		if name := fmt.Sprint(key); err == nil && isConfigKey(name) {
			if len(config) > 1 {
				config = append(config, ',')
			}
			config = append(append(append(config, '"'), name...), '"', ':')
			config = append(config, value...)
		}
	}
	if err != nil {
		panic(fmt.Sprintf(errTable, err))
	}
	return append(config, '}')
}
