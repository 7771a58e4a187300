package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/cmd/internal/management"
	"sluice/router/control/schema"
)

// suggest completes an error of the router by the nearest name that it knows, if
// it is a name that was wrong. Where the router itself does so, or does not say
// what it knows, nothing is added.
func (m *managing) suggest(ctx context.Context, r *management.Request, err error) error {
	var refused *management.StatusError
	if !errors.As(err, &refused) || strings.Contains(refused.Description, "did you mean") || ctx.Err() != nil {
		return err
	}
	near := ""
	switch text := refused.Description; {
	case strings.HasPrefix(text, "No such entity type"):
		typ := r.Type
		if t, ok := r.Properties["entityType"].(string); ok {
			typ = t
		}
		var short []string
		for _, full := range m.listOf(ctx, "GET-TYPES", "") {
			short = append(short, management.ShortType(full))
			if e := schema.ByName(full); e != nil {
				short = append(short, e.FileName())
			}
		}
		near = didYouMean(management.ShortType(typ), short)
	case strings.HasPrefix(text, "Unknown attribute"):
		known := m.listOf(ctx, "GET-ATTRIBUTES", r.Type)
		given, _ := r.Body.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if !contains(known, name) {
				near += didYouMean(name, known)
			}
		}
	case refused.Code == 501 && m.free():
		near = didYouMean(m.operation, operations)
	}
	if near == "" {
		return err
	}
	return &management.StatusError{Code: refused.Code, Description: strings.TrimSuffix(refused.Description, ".") + near}
}

// didYouMean returns the nearest name, to be added to a sentence.
func didYouMean(name string, known []string) string {
	if near := schema.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// listOf asks what the router knows: the types there are, or the attributes of
// one. It returns nil where it does not say.
func (m *managing) listOf(ctx context.Context, operation, typ string) []string {
	r := &management.Request{Operation: operation}
	if typ != "" {
		r.Properties = map[string]any{"entityType": typ}
	}
	reply, err := m.node.Call(ctx, r)
	if err != nil {
		return nil
	}
	body, _ := reply.Body.(map[string]any)
	if typ == "" {
		return slices.Sorted(maps.Keys(body))
	}
	var list []string
	values, _ := body[typ].([]any)
	for _, v := range values {
		if s, ok := v.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }
