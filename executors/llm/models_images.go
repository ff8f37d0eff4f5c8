package llm

import (
	"regexp"
	"strings"
)

// The models that accept images, by the last part of their names. textOnly has the exceptions. A
// server refuses a request with an image for another model, so an unknown model gets none.
var (
	imageModels = regexp.MustCompile(`^(` + strings.Join([]string{
		`gpt-4o`, `chatgpt-4o`, `gpt-4\.[1-9]`, `gpt-4-turbo`, `gpt-([5-9]|[1-9][0-9])`, `o[1-9](-|$)`, `codex-mini`,
		`computer-use`,
		`claude-([3-9]|[a-z]+-[0-9])`, `claude-(opus|sonnet|haiku|mythos|fable)`, `gemini-([2-9]|1\.5|flash|pro-vision)`,
		`gemini-[a-z]+-latest`,
		`gemma-?[3-9]`, `llama-?4`, `llava`, `bakllava`, `moondream`, `minicpm-v`, `minicpm-o`, `internvl`,
		`qvq`, `qwen[0-9.]*-omni`, `qwen3\.[5-9]`, `pixtral`, `mistral-small-?3\.[1-9]`,
		`mistral-(small|medium|large)-(latest|25(0[3-9]|1[0-2])|2[6-9])`, `mistral-(medium|large)-?3`, `ministral-?3`,
		`glm-[0-9.]+v`, `phi-4-multimodal`, `molmo`, `smolvlm`, `kimi-k2\.[5-9]`, `grok-([4-9]|[1-9][0-9])`,
		`nova-(lite|pro|premier)`,
	}, "|") + `)|vision|multimodal|[-_.0-9]vl[0-9]*([-_.:]|$)`)
	textOnly = regexp.MustCompile(`^(gpt-4-turbo-preview|o1-(mini|preview)|o3-mini|gpt-oss|gemma-?3[-:](1b|270m)|` +
		`mistral-large-25(0[3-9]|1[01]))|audio|realtime|transcribe|tts|embed|search-preview|^claude-(instant|[12])`)
)

// AcceptsImages reports whether the model with this name accepts images.
func (c *Capabilities) AcceptsImages(model string) bool {
	if c.Images != nil {
		return *c.Images
	}
	name := strings.ToLower(model)
	if rest, ok := strings.CutPrefix(name, "ft:"); ok {
		name = rest
	}
	name = name[strings.LastIndexByte(name, '/')+1:] // gateways put the vendor before the name
	for _, vendor := range []string{"anthropic.", "amazon.", "meta.", "mistral.", "qwen.", "google."} {
		if _, rest, ok := strings.Cut(name, vendor); ok { // Amazon Bedrock: us.anthropic.claude-...
			name = rest
		}
	}
	return imageModels.MatchString(name) && !textOnly.MatchString(name)
}
