// Package priorauth is the material of the demo: prior authorization, in which a clinic asks a health
// plan to pay for a treatment in advance. Two agents talk, [Clinic] and [Payer]. Their messages are
// not written in advance: the clinic has the chart of a patient, the payer has a policy, and neither
// sees the other file. Rules compose the messages from these files. A change of a value in a chart, or
// of a criterion of the policy, changes the end of the conversation.
//
//	clinic: priorauth.request.v1   the request and what the case says to attach
//	payer:  priorauth.question.v1  criteria of the policy for which there is no evidence
//	clinic: priorauth.evidence.v1  what the chart has on them
//	payer:  priorauth.decision.v1  approved or denied, or an offer of less, with reasons and what would change them
//	clinic: priorauth.evidence.v1  an appeal, where the chart has that; else priorauth.answer.v1: accept or withdraw
//	payer:  priorauth.decision.v1  closes the conversation: completed, with reason approved, partial or denied
//
// The payer evaluates the evidence itself, or it starts a session of a deterministic agent,
// [CriteriaAgent]: a command that receives the evidence as parameters and returns a table.
//
// Both agents keep nothing in memory: in each turn they read the log again, up to the turn before. So
// any number of them may run, in any process, and a repeated attempt has the same result. Traces
// contain the reasons of an agent. Only its own side can read them.
//
// People, patients and plans in the files are made up. The rules resemble published coverage
// policies; they are no medical advice.
package priorauth
