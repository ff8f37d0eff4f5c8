package paramschema

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// schemaPath returns the place of the keyword.
func (c *cause) schemaPath() []string {
	switch c.keyword {
	case "":
		return c.schema.path
	case "minContains":
		if c.schema.doc.get("minContains") == nil {
			return c.schema.pathTo("contains")
		}
	case "dependencies", "dependentRequired":
		name, _, _ := strings.Cut(c.about, "/")
		return c.schema.pathTo(c.keyword, unescape(name))
	}
	return c.schema.pathTo(c.keyword)
}

// message returns one sentence about the value.
func (c *cause) message() string {
	is := show(c.value)
	if c.inName {
		is = "the name " + is
	}
	if c.keyword == "" {
		return c.forbidden(is)
	}
	if m, ok := c.listMessage(); ok {
		return m
	}
	keyword := c.schema.doc.get(c.keyword)
	if keyword == nil {
		return clip(c.libraryMessage)
	}
	if f, ok := sentences[c.keyword]; ok {
		return fmt.Sprintf(f, is, show(keyword))
	}
	switch c.keyword {
	case "type":
		if n := len(c.path); n > 0 && c.path[n-1].index < 0 && c.value.kind == null {
			is = showName(c.path[n-1].name) + " is null, which"
		}
		return is + " is not of type " + types(keyword)
	case "format":
		return is + " is not a valid " + clip(keyword.string())
	case "minLength", "maxLength":
		n := utf8.RuneCountInString(c.value.string())
		return fmt.Sprintf("%s has %s: %s", is, counted(n, "character"), bound(c.keyword, keyword))
	case "minItems", "maxItems":
		return fmt.Sprintf("%s has %s: %s", is, counted(len(c.value.items), "item"), bound(c.keyword, keyword))
	case "minProperties", "maxProperties":
		return fmt.Sprintf("%s has %s: %s", is, counted(len(c.value.members), "member"), bound(c.keyword, keyword))
	}
	return clip(c.libraryMessage)
}

// sentences are formats for the value, and the value of the keyword.
var sentences = map[string]string{
	"enum":             "%s is not one of %s",
	"const":            "%s is not %s, which is the only value allowed",
	"minimum":          "%s is less than the minimum of %s",
	"maximum":          "%s is greater than the maximum of %s",
	"multipleOf":       "%s is not a multiple of %s",
	"pattern":          "%s does not match the pattern %s",
	"contentEncoding":  "%s is not encoded in %s",
	"contentMediaType": "%s is not of the media type %s",
	"anyOf":            "%s does not fit any of the schemas under anyOf%.0s",
	"not":              "%s fits the schema under not, and must not%.0s",
}

// listMessage returns the message for keywords about parts of a value, and for those whose meaning
// depends on the draft.
func (c *cause) listMessage() (string, bool) {
	is := show(c.value)
	switch c.keyword {
	case "required":
		return showName(c.about) + " is a required property", true
	case "additionalProperties":
		return showName(c.about) + " is not declared: additional properties are not allowed", true
	case "dependencies", "dependentRequired":
		return c.dependency(), true
	case "oneOf":
		var i, j int
		if n, _ := fmt.Sscanf(c.libraryMessage, "valid against schemas at indexes %d and %d", &i, &j); n == 2 {
			return fmt.Sprintf("%s fits more than one of the schemas under oneOf: %d and %d", is, i, j), true
		}
		return is + " does not fit any of the schemas under oneOf", true
	case "uniqueItems":
		var i, j int
		if n, _ := fmt.Sscanf(c.libraryMessage, "items at index %d and %d are equal", &i, &j); n == 2 {
			return fmt.Sprintf("%s has the same item twice, at %d and %d", is, i, j), true
		}
	case "additionalItems":
		n := len(c.schema.doc.get("items").items)
		return fmt.Sprintf("%s has %s: at most %d", is, counted(len(c.value.items), "item"), n), true
	case "minContains":
		return is + " has too few items that fit the schema under contains: " + c.atLeast(), true
	case "maxContains":
		return is + " has too many items that fit the schema under contains: at most " +
			show(c.schema.doc.get("maxContains")), true
	case "exclusiveMinimum", "exclusiveMaximum":
		return c.exclusive(is), true
	}
	return "", false
}

// atLeast returns the minimum of contains.
func (c *cause) atLeast() string {
	if least := c.schema.doc.get("minContains"); least != nil {
		return "at least " + show(least)
	}
	return "at least 1"
}

// exclusive returns the message for an exclusive bound. In draft 4, it is under another keyword.
func (c *cause) exclusive(is string) string {
	limit := c.schema.doc.get(c.keyword)
	word, inclusive := "greater", "minimum"
	if c.keyword == "exclusiveMaximum" {
		word, inclusive = "less", "maximum"
	}
	if limit.kind == boolean {
		limit = c.schema.doc.get(inclusive)
	}
	return fmt.Sprintf("%s is not %s than %s", is, word, show(limit))
}

// dependency returns the message for a member that another one requires.
func (c *cause) dependency() string {
	name, index, _ := strings.Cut(c.about, "/")
	name = unescape(name)
	missing := c.schema.doc.get(c.keyword).get(name).child(index)
	return fmt.Sprintf("%s is a required property where %s is given", showName(missing.string()), showName(name))
}

// forbidden returns the message for a value whose schema is false.
func (c *cause) forbidden(is string) string {
	if n := len(c.path); n > 0 && c.path[n-1].index < 0 && !c.inName {
		return showName(c.path[n-1].name) + " is not allowed here"
	}
	return is + " is not allowed here"
}

// types lists the types that type allows.
func types(keyword *value) string {
	if keyword.kind != array {
		return show(keyword)
	}
	all := make([]string, len(keyword.items))
	for i, t := range keyword.items {
		all[i] = show(t)
	}
	return strings.Join(all, " or ")
}

// counted returns a number with a noun.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// bound returns the requirement of a keyword that begins with min or max.
func bound(keyword string, n *value) string {
	if strings.HasPrefix(keyword, "min") {
		return "at least " + show(n)
	}
	return "at most " + show(n)
}
