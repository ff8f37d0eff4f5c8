// Package registration has the state that both clients keep for their registration as an executor:
// notifications that the loop has not processed yet, and claims whose call is in progress.
package registration
