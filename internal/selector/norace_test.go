//go:build !race

package selector_test

const slower = 1
