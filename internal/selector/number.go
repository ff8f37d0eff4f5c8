package selector

import (
	"cmp"
	"strconv"
	"strings"
)

// maxExponent limits the exponents of numbers in comparisons. A number above it is neither less
// than, greater than nor equal to any other.
const maxExponent = 1_000_000_000_000_000

// decimal is an exact number: 0.digits times ten to the power of exp. digits has no zero at its
// ends, and is empty for zero.
type decimal struct {
	negative bool
	digits   string
	exp      int64
}

// decimalOf parses a JSON number. It returns false if its exponent exceeds maxExponent.
func decimalOf(raw string) (decimal, bool) {
	d := decimal{}
	rest, negative := strings.CutPrefix(raw, "-")
	var exp int64
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		n, err := strconv.ParseInt(rest[i+1:], 10, 64)
		if err != nil {
			n = maxExponent + 1
		}
		rest, exp = rest[:i], n
	}
	whole, part, _ := strings.Cut(rest, ".")
	digits := strings.TrimLeft(whole+part, "0")
	d.exp = int64(len(whole)) - int64(len(whole)+len(part)-len(digits))
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	if exp > maxExponent || exp < -maxExponent {
		return decimal{}, false
	}
	d.exp += exp
	d.negative = negative
	return d, true
}

// compareNumbers compares two JSON numbers exactly. It returns false if one of them cannot be
// compared.
func compareNumbers(a, b string) (int, bool) {
	x, ok := decimalOf(a)
	if !ok {
		return 0, false
	}
	y, ok := decimalOf(b)
	if !ok {
		return 0, false
	}
	return x.compare(y), true
}

func (d decimal) compare(o decimal) int {
	if s, t := d.sign(), o.sign(); s != t || s == 0 {
		return cmp.Compare(s, t)
	}
	c := cmp.Compare(d.exp, o.exp)
	if c == 0 {
		c = strings.Compare(d.digits, o.digits)
	}
	if d.negative {
		return -c
	}
	return c
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}
