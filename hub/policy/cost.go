package policy

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/parleyhub/parley/internal/limits"
)

const (
	// maxPattern bounds the instructions of one regular expression.
	maxPattern = 256
	// maxWritten bounds the instructions that are counted before a pattern is compiled.
	maxWritten = 4096
	// patternSteps is the number of steps of a regular expression that cost 1. The steps are the bytes of the text times
	// the instructions.
	patternSteps = 16
	// bytesRead is the number of bytes of a text that cost 1 if the text is only read. bytesMade is that number if a new
	// value is made of the text.
	bytesRead = 64
	bytesMade = 10
)

// patterns are the regular expressions of an expression, with the number of their instructions.
type patterns map[string]uint64

// inspect refuses CEL that is not supported here, and returns the patterns of matches. Maps and objects made in an
// expression have no order, so their iteration could have different results. A pattern that is not constant could take
// any time.
func inspect(checked *cel.Ast) (patterns, error) {
	found := patterns{}
	var fault error
	at := func(e ast.Expr, what string) {
		if fault == nil {
			start := checked.NativeRep().SourceInfo().GetStartLocation(e.ID())
			fault = fmt.Errorf("%d:%d: %s", start.Line(), start.Column()+1, what)
		}
	}
	ast.PostOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.MapKind, ast.StructKind:
			at(e, "an expression cannot make maps or objects")
		case ast.CallKind:
			if fault != nil || e.AsCall().FunctionName() != overloads.Matches {
				return
			}
			if what := found.add(e.AsCall()); what != "" {
				at(e, what)
			}
		}
	}))
	return found, fault
}

// add adds the pattern of a call of matches, or returns what is wrong with it.
func (p patterns) add(call ast.CallExpr) (fault string) {
	pattern, ok := constantString(call.Args()[len(call.Args())-1])
	if !ok {
		return "matches takes a pattern in quotes"
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "invalid matches argument"
	}
	n := steps(re)
	if n <= maxWritten {
		instructions, err := syntax.Compile(re.Simplify())
		if err != nil {
			return "invalid matches argument"
		}
		n = len(instructions.Inst)
	}
	if n > maxPattern {
		return fmt.Sprintf("the pattern has %d steps, and may have %d", n, maxPattern)
	}
	p[pattern] = uint64(n)
	return ""
}

// steps returns an upper bound of the instructions of a pattern, computed before repetitions are expanded, because
// that could need any amount of memory. It stops counting beyond maxWritten.
func steps(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpConcat:
		n = 0
	}
	for _, sub := range re.Sub {
		n += steps(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxWritten+1)
}

func constantString(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().Value().(string)
	return s, ok
}

var _ cost.ActualCostEstimator = patterns(nil)

// sizer counts the members of a value at all levels, and a tenth of the bytes of texts. Lists and objects cache their
// size.
var sizer = types.NewSizeCalculator(types.SizeCalculatorMaxDepth(maxDepth),
	types.SizeCalculatorMaxTraversal(maxElements))

// price returns the cost of a pattern on a text.
func (p patterns) price(pattern string, bytes uint64) uint64 {
	return 1 + cost.SafeMultiply(bytes, p[pattern])/patternSteps
}

// CallCost charges 1 for a call, and the cost of everything that it may read. The library would count only the
// outermost members of compared values, and nothing for texts whose type is not known before.
func (p patterns) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	n := uint64(1)
	switch function {
	case overloads.Matches:
		text, _ := args[0].Value().(string)
		pattern, _ := args[1].Value().(string)
		n = p.price(pattern, uint64(len(text)))
	case operators.Equals, operators.NotEquals:
		n += uint64(min(sizer.AggregateSize(args[0]), sizer.AggregateSize(args[1])))
	case operators.In:
		if list, ok := args[1].(traits.Lister); ok {
			n += uint64(sizer.AggregateSize(list))
		}
	case overloads.Contains, overloads.Size:
		n += textBytes(args[0]) / bytesRead
	case overloads.StartsWith, overloads.EndsWith:
		n += textBytes(args[1]) / bytesRead
	default:
		for _, a := range args {
			n += textBytes(a) / bytesMade
		}
	}
	return &n
}

// textBytes returns the size of a text, and 0 for other values.
func textBytes(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v))
	case types.Bytes:
		return uint64(len(v))
	}
	return 0
}

// estimator knows the maximum sizes of the variables and the cost of patterns. It knows nothing about data and assumes
// that it is empty; the limit at run time bounds that.
type estimator struct{ patterns patterns }

// sizes are the maximum sizes of the variables, in characters or members.
var sizes = map[string]uint64{
	"last.from": 64, "last.kind": 8, "last.role": limits.MaxRoleBytes, "last.text": maxValueBytes,
	"last.schema": limits.MaxTagBytes,
	"last.tags":   limits.MaxTags, "last.tags.@items": limits.MaxTagBytes,
	"participants": limits.MaxParticipants, "participants.@items.id": 64, "participants.@items.kind": 8,
	"participants.@items.role": limits.MaxRoleBytes,
	"counts":                   limits.MaxParticipants, "counts.@keys": 64,
}

// EstimateSize returns the maximum size of a variable.
func (*estimator) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	return &cost.SizeEstimate{Max: sizes[strings.Join(node.Path(), ".")]}
}

// EstimateCallCost returns the costs that CallCost has and the library does not.
func (s *estimator) EstimateCallCost(function, _ string, target *cost.AstNode, args []cost.AstNode) *cost.CallEstimate {
	if target != nil {
		args = append([]cost.AstNode{*target}, args...)
	}
	switch function {
	case overloads.Matches:
		pattern, _ := constantString(args[1].Expr()) // inspect has checked that it is constant
		return s.reading(args[0], func(bytes uint64) uint64 { return s.patterns.price(pattern, bytes) })
	case overloads.Contains:
		return s.reading(args[0], func(bytes uint64) uint64 { return 1 + bytes/bytesRead })
	}
	return nil
}

// reading returns the estimate for a call that reads a text.
func (s *estimator) reading(text cost.AstNode, price func(bytes uint64) uint64) *cost.CallEstimate {
	size := cost.EstimateSize(s, text)
	return &cost.CallEstimate{CostEstimate: cost.Estimate{Min: price(size.Min), Max: price(size.Max)}}
}
