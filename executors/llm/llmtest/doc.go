// Package llmtest holds providers against what llm.Provider promises. Every provider passes the same test:
//
//	func TestConformance(t *testing.T) {
//		llmtest.Conformance(t, func(t *testing.T) llmtest.Setup {
//			return llmtest.Setup{Model: "gpt-4o", Provider: func(t *testing.T, s *llmtest.Script) llm.Provider { ... }}
//		})
//	}
//
// Conformance makes scripts. For each it has Setup.Provider make a provider that is answered as the script says, drives it with Script.Run and looks at what came. A provider of a vendor
// starts a server that renders the exchanges in the vendor's wire format: see Script.Take. One that needs no wire, as Vendor, answers from the script itself. One that plays back
// may run the script once to record it, and once more to be looked at: Script.Run makes the same calls each time, and Script.Rewind lets the vendor begin anew.
package llmtest
