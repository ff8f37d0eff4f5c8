package policy

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"

	"github.com/parleyhub/parley/internal/limits"
)

// maxPrograms bounds the cached programs. The cache changes only the time of an evaluation.
const maxPrograms = 1024

var programs struct {
	mu sync.Mutex // guards the fields below
	// of are programs by the text of their expression.
	of map[string]cel.Program
}

// program returns the program of an expression.
func program(expr string) (cel.Program, error) {
	programs.mu.Lock()
	p := programs.of[expr]
	programs.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := newProgram(expr)
	if err != nil {
		return nil, err
	}
	programs.mu.Lock()
	defer programs.mu.Unlock()
	if programs.of == nil || len(programs.of) >= maxPrograms {
		programs.of = make(map[string]cel.Program)
	}
	programs.of[strings.Clone(expr)] = p
	return p, nil
}

// compile checks an expression against the language, the variables and the maximum cost.
func compile(expr string) error {
	_, err := program(expr)
	return err
}

// compiling is locked while an expression is compiled.
var compiling sync.Mutex

func newProgram(expr string) (p cel.Program, err error) {
	defer func() { // the library is large, and its input comes from outside
		if r := recover(); r != nil {
			p, err = nil, errors.New("the expression cannot be understood")
		}
	}()
	compiling.Lock() // it may take a while, and must not use every processor
	defer compiling.Unlock()
	env := environment()
	ast, issues := env.Compile(expr)
	if len(issues.Errors()) > 0 { // not Err, which includes the source for each error
		return nil, firstOf(issues)
	}
	if !ast.OutputType().IsExactType(types.BoolType) && !ast.OutputType().IsExactType(types.DynType) {
		return nil, fmt.Errorf("the expression returns %s", ast.OutputType())
	}
	patterns, err := inspect(ast)
	if err != nil {
		return nil, err
	}
	estimate, err := env.EstimateCost(ast, &estimator{patterns})
	if err != nil {
		return nil, err
	}
	if estimate.Max > limits.MaxExpressionCost {
		return nil, fmt.Errorf("the expression may cost more than %d", limits.MaxExpressionCost)
	}
	return env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostTracking(patterns),
		cel.CostLimit(limits.MaxExpressionCost),
		cel.MemoryTracking(types.MemoryTrackerSizeCalculator(sizer), types.MemoryTrackerSampleInterval(16)),
		cel.MemoryLimit(maxElements))
}

// firstOf returns the first error of a compilation as line:column: message.
func firstOf(issues *cel.Issues) error {
	all := issues.Errors()
	if len(all) == 0 {
		return issues.Err()
	}
	e := all[0]
	message := strings.ReplaceAll(e.Message, " (in container '')", "")
	if e.Location == nil || e.Location.Line() < 1 {
		return errors.New(message)
	}
	return fmt.Errorf("%d:%d: %s", e.Location.Line(), e.Location.Column()+1, message)
}

var errNoBool = errors.New("it did not give a bool")

// evaluate reports whether an expression is true. It returns an error for an expression that costs too much, fails, or
// does not return a bool. It adds the cost to vars.
func evaluate(expr string, vars *variables) (bool, error) {
	p, err := program(expr)
	if err != nil {
		return false, err
	}
	v, details, err := p.Eval(vars)
	if details != nil && details.ActualCost() != nil {
		vars.cost += *details.ActualCost()
	}
	if err != nil {
		return false, plain(err)
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, errNoBool
	}
	return bool(b), nil
}

// plain replaces the errors of exceeded bounds by those of the protocol.
func plain(err error) error {
	var canceled interpreter.EvalCancelledError
	if !errors.As(err, &canceled) {
		return err
	}
	switch canceled.Cause {
	case interpreter.CostLimitExceeded:
		return fmt.Errorf("it costs more than %d", limits.MaxExpressionCost)
	case interpreter.MemoryLimitExceeded:
		return errors.New("its values are too large")
	}
	return err
}
