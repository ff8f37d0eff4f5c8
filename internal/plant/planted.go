//go:build planted

package plant

import "os"

const variable = "PARLEY_PLANT"

var planted = Bug(os.Getenv(variable))

// Planted reports whether the program has the bug.
func (b Bug) Planted() bool { return b == planted }

// Env gives what a process of the program's own, with an environment of its own, must get to have the bug too.
func Env() []string { return []string{variable + "=" + string(planted)} }
