package models

import (
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley/executors/llm"
)

// over are rows of a file over what is known of the models of their prefixes: what a row does not say stays.
func (o *Runtime) over(known llm.Models) (llm.Models, error) {
	if len(o.Rows) == 0 {
		return known, nil
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(o.Rows, &rows); err != nil {
		return nil, err
	}
	all := append(llm.Models{}, known...)
	for i, raw := range rows {
		row := llm.ModelRow{Capabilities: known.Find(o.Models[i].Prefix)}
		if p := row.Price; p != nil {
			own := *p
			row.Price = &own
		}
		if err := json.Unmarshal(raw, &row); err != nil {
			return nil, fmt.Errorf("models[%d]: %w", i, err)
		}
		all = append(all, row)
	}
	return all, nil
}

// builtIn is what is known of the models of a runtime. A server that only speaks like a vendor has other models.
// How it is asked is said by api, or else by its provider where the server is not the vendor's: most have chat alone.
func builtIn(name, kind string, api llm.API, foreign bool) llm.Models {
	switch name {
	case KindOpenAI:
		return asked(llm.OpenAIModels(), api, foreign)
	case KindAnthropic:
		return llm.AnthropicModels()
	}
	if kind == KindOpenAI { // the API has no thinking budget
		return llm.Models{{Capabilities: llm.Capabilities{NoThinkingBudget: true}}}
	}
	return nil
}

// asked are models that are asked by another API.
func asked(all llm.Models, api llm.API, foreign bool) llm.Models {
	for i := range all {
		if api != "" || foreign {
			all[i].API = api
		}
		if foreign { // the provider knows the name that most servers have
			all[i].MaxTokensParam, all[i].MinOutputTokens = "", 0
		}
	}
	return all
}
