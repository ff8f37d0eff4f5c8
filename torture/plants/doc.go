// Package plants builds the tests with the bugs of package plant, and sees that for each of them a test goes red, for the right reason.
//
// A test of this kind belongs to every promise: one that cannot fail says nothing. Whoever makes a promise adds a bug to package plant, a point in the
// product at which it acts, and a row to the table of this package.
package plants
