// Command faulty has faults for go vet to find.
package main

import (
	"fmt"
	"sync"

	"example.com/faulty/report"
)

type counter struct {
	mu sync.Mutex
	n  int
}

func show(c counter) { fmt.Println(c.n) }

func main() {
	fmt.Printf("%d visits\n", "seven")
	report.Print()
}
