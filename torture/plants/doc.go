// Package plants holds bugs of Parley as patches, and its test plants each of them to see a test
// fail, for the right reason. A test that cannot fail proves nothing.
//
// The file bugs/NAME.patch is one sentence that describes the bug, and a unified diff. The product
// itself has no hook for a bug: package internal/overlay writes patched copies of the files to a
// temporary directory, and "go build -overlay" compiles these instead of the originals.
//
// A new promise needs a patch that breaks it, and a row in the table of this package. The row names
// the test that must fail, and words of its output. To see a bug at work by hand, apply its patch
// with "git apply", and revert it afterwards.
package plants
