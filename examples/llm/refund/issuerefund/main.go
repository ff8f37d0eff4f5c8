// Command issuerefund simulates a payment: it reads an order and an amount, and prints the payment
// that it would make.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type refund struct {
	Order     string  `json:"order"`
	Amount    float64 `json:"amount"`
	Reference string  `json:"reference"`
}

func main() {
	var r refund
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		fmt.Fprintln(os.Stderr, "expected an order and an amount:", err)
		os.Exit(1)
	}
	r.Reference = fmt.Sprintf("R-%s-%.2f", r.Order, r.Amount)
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		os.Exit(1)
	}
}
