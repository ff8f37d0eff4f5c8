package rpc

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/schema/generate"
)

// ServedMethods are the methods that the door serves, with the types that its handlers read and write.
func ServedMethods() []generate.Method {
	var served []generate.Method
	for _, m := range parley.Methods {
		if h, ok := handlers[m.Name]; ok {
			served = append(served, generate.Method{Method: m, Params: h.params, Result: h.result})
		}
	}
	return served
}
