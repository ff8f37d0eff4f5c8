//go:build !race

package paramschema_test

const slower = 1
