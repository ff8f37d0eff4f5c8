// Package llmtest tests providers against the rules of llm.Provider. Every provider passes the same
// test:
//
//	func TestConformance(t *testing.T) {
//		llmtest.Conformance(t, func(t *testing.T) llmtest.Setup {
//			return llmtest.Setup{Model: "gpt-4o", Provider: func(t *testing.T, s *llmtest.Script) llm.Provider { ... }}
//		})
//	}
//
// Conformance creates scripts. For each, Setup.Provider returns a provider whose vendor answers
// with the script. Conformance calls it with Script.Run and checks the outcome. A provider of a
// vendor starts a server that sends the exchanges in the wire format of the vendor; see
// Script.Take. A provider without a wire, such as Vendor, answers from the script itself. A
// replaying provider may run the script once to record it. Script.Run makes the same calls each
// time, and Script.Rewind restarts the vendor.
//
// Chat, Responses and Messages are the APIs of vendors. Their servers refuse what the real vendors
// refuse; see Wire.Check. Matrix runs many scenarios with such servers: unusual answers, errors, and
// requests that a vendor refuses if they are sent carelessly.
//
//	func TestMatrix(t *testing.T) {
//		llmtest.Matrix(t, llmtest.Target{Wire: llmtest.Chat, Model: "gpt-4.1", ReasoningModel: "gpt-5",
//			Runtime: func(t *testing.T, base string) *llm.Runtime { ... }})
//	}
package llmtest
