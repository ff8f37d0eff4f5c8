package policy

import (
	"maps"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// Bounds of an expression, beside its size and cost.
const (
	maxNesting  = 24     // how deep it may nest; what the types of nested lists take to check grows with the cube
	maxNodes    = 5_000  // of its syntax tree, macros written out
	maxElements = 65_536 // that a value may have, with all that is in it
	maxDepth    = 512    // of a value: data nests parley.MaxDepth deep, and an expression adds maxNesting
)

// The types of the variables.
const (
	typeMessage     = "message"
	typeParticipant = "participant"
)

// structs are the members of the variables that are objects.
var structs = map[string]map[string]*types.Type{
	typeMessage: {
		"from": types.StringType, "kind": types.StringType, "role": types.StringType, "text": types.StringType,
		"schema": types.StringType,
		"tags":   types.NewListType(types.StringType), "data": types.DynType, "turn": types.IntType,
	},
	typeParticipant: {"id": types.StringType, "kind": types.StringType, "role": types.StringType},
}

// environment is the language: the standard library and macros of CEL, and the variables.
var environment = sync.OnceValue(func() *cel.Env {
	registry, err := types.NewRegistry()
	if err != nil {
		panic(err) // the registry is empty
	}
	e, err := cel.NewCustomEnv(
		cel.CustomTypeProvider(provider{registry}), cel.CustomTypeAdapter(registry),
		cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().AddExcludedFunctions(zoned()...))),
		cel.Variable("last", types.NewObjectType(typeMessage)),
		cel.Variable("turns", types.IntType),
		cel.Variable("autonomous", types.IntType),
		cel.Variable("participants", types.NewListType(types.NewObjectType(typeParticipant))),
		cel.Variable("counts", types.NewMapType(types.StringType, types.IntType)),
		cel.DefaultUTCTimeZone(true),
		cel.ParserRecursionLimit(maxNesting), cel.ExpressionNodeLimit(maxNodes),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
	)
	if err != nil {
		panic(err) // the options are constant
	}
	return e
})

// zoned returns the functions that read the time zones of the machine, which differ between machines.
func zoned() []*env.Function {
	var out []*env.Function
	for _, f := range []struct{ name, overload string }{
		{overloads.TimeGetFullYear, overloads.TimestampToYearWithTz},
		{overloads.TimeGetMonth, overloads.TimestampToMonthWithTz},
		{overloads.TimeGetDayOfYear, overloads.TimestampToDayOfYearWithTz},
		{overloads.TimeGetDayOfMonth, overloads.TimestampToDayOfMonthZeroBasedWithTz},
		{overloads.TimeGetDate, overloads.TimestampToDayOfMonthOneBasedWithTz},
		{overloads.TimeGetDayOfWeek, overloads.TimestampToDayOfWeekWithTz},
		{overloads.TimeGetHours, overloads.TimestampToHoursWithTz},
		{overloads.TimeGetMinutes, overloads.TimestampToMinutesWithTz},
		{overloads.TimeGetSeconds, overloads.TimestampToSecondsWithTz},
		{overloads.TimeGetMilliseconds, overloads.TimestampToMillisecondsWithTz},
	} {
		out = append(out, &env.Function{Name: f.name, Overloads: []*env.Overload{{ID: f.overload}}})
	}
	return out
}

// provider adds structs to the types of the registry.
type provider struct{ *types.Registry }

// FindStructType returns an object type by its name.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := structs[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Registry.FindStructType(name)
}

// FindStructFieldNames returns the members of an object.
func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if members, ok := structs[name]; ok {
		return slices.Sorted(maps.Keys(members)), true
	}
	return p.Registry.FindStructFieldNames(name)
}

// FindStructFieldType returns the type of a member.
func (p provider) FindStructFieldType(name, member string) (*types.FieldType, bool) {
	members, ok := structs[name]
	if !ok {
		return p.Registry.FindStructFieldType(name, member)
	}
	t, ok := members[member]
	return &types.FieldType{Type: t}, ok
}

// NewValue makes values of the registry only, because inspect refuses expressions that make objects.
func (p provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	return p.Registry.NewValue(name, fields)
}
