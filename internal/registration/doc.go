// Package registration is what both clients keep of their registration as an executor: what it has
// told and nobody has looped over yet, and which claims are being taken.
package registration
