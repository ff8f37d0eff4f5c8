// Package priorauth is the demo's material: prior authorization, in which a clinic asks a health
// plan to pay for a treatment before it is given. Two agents talk, [Clinic] and [Payer]. Nothing
// that they say is written down beforehand: the clinic knows a patient's chart, the payer knows a
// policy, neither sees the other's, and what they say is composed from these files by rules. Change
// a value in a chart or a criterion of the policy and the conversation ends otherwise.
//
//	clinic: priorauth.request.v1   the request and what the case says to attach
//	payer:  priorauth.question.v1  criteria of the policy for which there is no evidence
//	clinic: priorauth.evidence.v1  what the chart has on them
//	payer:  priorauth.decision.v1  approved or denied, or an offer of less, with reasons and what would change them
//	clinic: priorauth.evidence.v1  an appeal, where the chart has that; else priorauth.answer.v1: accept or withdraw
//	payer:  priorauth.decision.v1  closes the conversation: completed, with reason approved, partial or denied
//
// How the evidence stands the payer finds out itself, or it starts a session of a deterministic
// agent, [CriteriaAgent]: a command that gets the evidence as parameters and gives back a table.
//
// Both agents keep nothing in memory: each turn they read the log again, up to the turn before
// theirs. So any number of them may run, in any process, and a turn that is taken up again after a
// failure goes the same way. How an agent came to what it says is in traces, which only its own
// side reads.
//
// People, patients and plans in the files are made up. The rules resemble published coverage
// policies; they are no medical advice.
package priorauth
