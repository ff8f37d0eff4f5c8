package rpc

import (
	"maps"
	"slices"

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

// DifferentRoutes are the methods that over plain HTTP are another than by JSON-RPC, in order.
func DifferentRoutes() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(special)), maps.Keys(wider))
	slices.Sort(names)
	return slices.Compact(names)
}
