package toolschema

import (
	"regexp"
	"slices"
)

// A Provider is a model API that tools are exported to.
type Provider string

// The APIs. OpenAIStrict is OpenAI with strict mode, in which the model's arguments fit the schema for certain.
const (
	OpenAI       Provider = "openai"
	OpenAIStrict Provider = "openai-strict"
	Anthropic    Provider = "anthropic"
	Gemini       Provider = "gemini"
)

// Providers are all of them.
func Providers() []Provider { return []Provider{OpenAI, OpenAIStrict, Anthropic, Gemini} }

// A Rule is one thing that a model API asks of the tools that it is given.
type Rule struct {
	Name   string // as changes and breaches name it
	Says   string // in our words
	Source string // page that says it; where no page does, the report of the API's own refusal
}

// Rules are those of an API that Export keeps and Check looks for; none of an unknown one.
func Rules(p Provider) []Rule {
	if d := dialects[p]; d != nil {
		return slices.Clone(d.rules)
	}
	return nil
}

// A dialect is what an API takes, as data: Export writes towards it, and Check, which shares nothing else
// with Export, reads it on its own.
type dialect struct {
	name           *regexp.Regexp      // of tools
	property       *regexp.Regexp      // of arguments; nil: any
	maxTools       int                 // 0: not published
	maxDescription int                 // characters of a tool's; 0: not published
	rootBans       []string            // keywords that may not stand at the top
	keywords       []string            // all that are taken; nil: any
	formats        map[string][]string // by type; nil: any
	python         bool                // patterns are read by Python's re
	lookaround     bool                // and may look around
	openAPI        bool                // a subset of OpenAPI's schemas, not JSON Schema
	strict         *strictLimits       // nil: not strict
	rules          []Rule
}

// strictLimits are the sizes that strict mode takes.
type strictLimits struct {
	properties int // of all objects together
	depth      int // objects and arrays in each other
	enums      int // values of all enums together
	text       int // characters of property names, enum and const values together
	longEnum   int // an enum of more strings than this
	longText   int // has at most so many characters
}

const (
	openaiReference  = "https://platform.openai.com/docs/api-reference/chat/create"
	openaiStructured = "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas"
	openaiFunctions  = "https://platform.openai.com/docs/guides/function-calling#strict-mode"
	anthropicTools   = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools"
	geminiSchema     = "https://ai.google.dev/api/caching#Schema"
	vertexFunctions  = "https://cloud.google.com/vertex-ai/generative-ai/docs/reference/java/latest/com.google.cloud.vertexai.api.FunctionDeclarationOrBuilder"
)

var openaiRules = []Rule{
	{"name", "a function's name has letters, digits, underscores and dashes, at most 64, and is unlike the others", openaiReference},
	{"tool-count", "a request has at most 128 functions", openaiReference},
	{"description-length", "a function's description has at most 1024 characters", "https://github.com/getsentry/sentry-mcp/issues/106"},
	{"root-object", `parameters are a schema of type "object"`, "https://github.com/langchain-ai/langchainjs/issues/9804"},
	{"root-keyword", "the top of parameters has no oneOf, anyOf, allOf, enum, const or not", "https://github.com/langchain-ai/langchainjs/issues/9804"},
	{"properties", `a function without parameters has "properties": {}`, openaiReference},
	{"items", "a schema of an array has items", "https://github.com/PrefectHQ/fastmcp/issues/2464"},
	{"ref", "a $ref points to a definition inside the schema", openaiStructured},
	{"pattern", "a pattern is one that Python's re reads, and does not look ahead or behind", "https://github.com/vercel/ai/pull/21037"},
	{"draft", "parameters are valid by JSON Schema draft 2020-12", "https://github.com/FoundationAgents/OpenManus/issues/1162"},
	{"nullable", "null is a type among others; nullable is no word of JSON Schema", openaiFunctions},
}

var dialects = map[Provider]*dialect{
	OpenAI: {
		name: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), maxTools: 128, maxDescription: 1024,
		rootBans: []string{"oneOf", "anyOf", "allOf", "enum", "const", "not"},
		python:   true,
		rules:    openaiRules,
	},
	OpenAIStrict: {
		name: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), maxTools: 128, maxDescription: 1024,
		rootBans: []string{"oneOf", "anyOf", "allOf", "enum", "const", "not"},
		python:   true,
		keywords: []string{
			"type", "title", "description", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs",
			"pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
		},
		formats: map[string][]string{"string": {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}},
		strict:  &strictLimits{properties: 5000, depth: 10, enums: 1000, text: 120_000, longEnum: 250, longText: 15_000},
		rules: append(slices.Clone(openaiRules[:len(openaiRules)-1]), // keyword says that of nullable
			Rule{"closed", "every object has additionalProperties: false", openaiStructured},
			Rule{"all-required", "every property is required; one that may be left out is null instead", openaiStructured},
			Rule{"keyword", "only the keywords of the subset stand in a schema; allOf, oneOf, not, if, default, minLength and others do not", openaiStructured},
			Rule{"type", "every schema names one type, or one and null, or has anyOf", openaiStructured},
			Rule{"format", "a string's format is one of nine", openaiStructured},
			Rule{"depth", "objects and arrays nest at most 10 deep", openaiStructured},
			Rule{"property-count", "all objects together have at most 5000 properties", openaiStructured},
			Rule{"enum-count", "all enums together have at most 1000 values", openaiStructured},
			Rule{"enum-length", "an enum of more than 250 strings has at most 15000 characters", openaiStructured},
			Rule{"text-length", "names, enum and const values together have at most 120000 characters", openaiStructured},
		),
	},
	Anthropic: {
		name: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`), property: regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`),
		rootBans: []string{"oneOf", "anyOf", "allOf"},
		rules: []Rule{
			{"name", "a tool's name has letters, digits, underscores and dashes, at most 128, and is unlike the others", anthropicTools},
			{"root-object", `input_schema is a schema of type "object"`, anthropicTools},
			{"root-keyword", "the top of input_schema has no oneOf, allOf or anyOf", "https://github.com/anthropics/claude-code/issues/40075"},
			{"property-name", "the names of arguments have letters, digits, underscores, dots and dashes, at most 64", "https://github.com/n8n-io/n8n/issues/30590"},
			{"draft", "input_schema is valid by JSON Schema draft 2020-12", "https://github.com/anthropics/claude-code/issues/63673"},
			{"ref", "a $ref points to a definition inside the schema", "https://json-schema.org/draft/2020-12"},
			{"nullable", "null is a type among others; nullable is no word of JSON Schema", "https://json-schema.org/draft/2020-12"},
		},
	},
	Gemini: {
		name: regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`), property: regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`),
		maxTools: 512,
		python:   true, lookaround: true,
		openAPI: true,
		keywords: []string{
			"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required", "minProperties",
			"maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum",
		},
		formats: map[string][]string{"STRING": {"enum", "date-time"}, "NUMBER": {"float", "double"}, "INTEGER": {"int32", "int64"}},
		rules: []Rule{
			{"name", "a function's name starts with a letter or underscore, has letters, digits, underscores, dots and dashes, at most 64, and is unlike the others", vertexFunctions},
			{"tool-count", "a request has at most 512 function declarations", "https://github.com/google-gemini/gemini-cli/issues/19083"},
			{"root-object", "parameters are of type OBJECT", "https://github.com/diegosouzapw/OmniRoute/pull/3360"},
			{"property-name", "the names of parameters start with a letter or underscore and have letters, digits and underscores, at most 64", vertexFunctions},
			{"keyword", "only the fields of Schema stand in a schema; $ref, const, allOf, oneOf, additionalProperties and others do not", geminiSchema},
			{"type", "every schema names exactly one type of the enumeration, or has anyOf", "https://github.com/danny-avila/LibreChat/issues/6971"},
			{"any-of-alone", "beside anyOf nothing else stands", "https://github.com/anomalyco/opencode/issues/14700"},
			{"enum", "an enum is of type STRING, and its values are strings that are not empty", geminiSchema},
			{"format", "a string's format is enum or date-time; numbers have float, double, int32 and int64", "https://github.com/google-gemini/gemini-cli/issues/3178"},
			{"items", "a schema of an array has items", "https://github.com/cline/cline/issues/7339"},
			{"properties", "properties, where it stands, is not empty; a function without parameters has no parameters field", "https://github.com/agno-agi/agno/issues/2112"},
			{"required", "required names properties that are there", "https://github.com/iBUHub/AIStudioToAPI/issues/154"},
			{"pattern", "a pattern is one that Python's re reads, without properties of Unicode", "https://github.com/langfuse/langfuse/issues/14770"},
		},
	},
}
