package selector

// deeper counts nested parentheses and functions.
func (r *pathReader) deeper() {
	if r.nesting++; r.nesting > maxNesting {
		r.fail("parentheses and functions may be nested at most %d deep", maxNesting)
	}
}

func (r *pathReader) or() test {
	tests := anyOf{r.and()}
	for r.err == nil && r.take("||") {
		tests = append(tests, r.and())
	}
	if len(tests) == 1 {
		return tests[0]
	}
	return tests
}

func (r *pathReader) and() test {
	tests := allOf{r.basic()}
	for r.err == nil && r.take("&&") {
		tests = append(tests, r.basic())
	}
	if len(tests) == 1 {
		return tests[0]
	}
	return tests
}

// basic parses a test or a comparison.
func (r *pathReader) basic() test {
	if r.look() == '!' {
		r.i++
		r.deeper()
		t := r.basic()
		r.nesting--
		return not{t}
	}
	if r.take("(") {
		r.deeper()
		t := r.or()
		r.expect(")")
		r.nesting--
		return t
	}
	left, t := r.term()
	if t != nil {
		return t
	}
	op := r.comparison()
	if q, is := left.(singular); is && op == "" {
		return exists(q)
	}
	right, _ := r.term()
	if op == "" || left == nil || right == nil {
		r.unexpected()
	}
	return compared{left: left, op: op, right: right}
}

func (r *pathReader) comparison() string {
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if r.take(op) {
			return op
		}
	}
	return ""
}

// term parses an operand of a comparison, or a test: a query that is not singular, match or search.
func (r *pathReader) term() (operand, test) {
	switch c := r.look(); {
	case c == '$' || c == '@':
		r.i++
		q := r.query(c == '$')
		if q.singular {
			return singular{q}, nil
		}
		return nil, exists{q}
	case c == '"' || c == '\'':
		return literal{jsonText(r.quoted())}, nil
	case c == '-' || c >= '0' && c <= '9':
		return literal{&value{kind: number, raw: r.number()}}, nil
	}
	name := r.word()
	if r.peek() != '(' {
		return r.constant(name), nil
	}
	r.i++
	r.deeper()
	o, t := r.function(name)
	r.expect(")")
	r.nesting--
	return o, t
}

func (r *pathReader) constant(name string) operand {
	switch name {
	case "true", "false":
		return literal{&value{kind: boolean, raw: name}}
	case "null":
		return literal{&value{kind: null, raw: name}}
	}
	r.unexpected()
	return literal{&value{kind: null, raw: "null"}}
}

// function parses the arguments of a function.
func (r *pathReader) function(name string) (operand, test) {
	if name == "count" || name == "value" {
		q := r.nodes()
		if name == "count" {
			return countOf{q}, nil
		}
		return valueOf{q}, nil
	}
	of, _ := r.term()
	if of == nil {
		r.unexpected()
	}
	switch name {
	case "length":
		return lengthOf{of}, nil
	case "match", "search":
		return nil, r.pattern(of, name == "match")
	}
	r.fail("there is no function %s", name)
	return nil, nil
}

// nodes parses a query as an argument.
func (r *pathReader) nodes() *query {
	c := r.look()
	if c != '$' && c != '@' {
		r.unexpected()
	}
	r.i = min(r.i+1, len(r.s))
	return r.query(c == '$')
}

// pattern parses the second argument of match and search. It must be a string: a pattern from the
// data would have to be compiled for each value.
func (r *pathReader) pattern(of operand, whole bool) test {
	r.expect(",")
	if c := r.look(); c != '"' && c != '\'' {
		r.fail("expected the pattern of match and search as a text in quotes")
		return exists{&query{}}
	}
	re, size, err := r.patterns.compile(r.quoted(), whole)
	if err != nil {
		r.fail("%w", err)
		return exists{&query{}}
	}
	return matching{of: of, pattern: re, size: size}
}
