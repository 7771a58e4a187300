package management

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Status codes.
const (
	statusOK             int32 = 200
	statusCreated        int32 = 201
	statusNoContent      int32 = 204
	statusBadRequest     int32 = 400
	statusForbidden      int32 = 403
	statusNotFound       int32 = 404
	statusInternalError  int32 = 500
	statusNotImplemented int32 = 501
)

var statusWords = map[int32]string{
	statusOK: "OK", statusCreated: "Created", statusNoContent: "No Content",
	statusBadRequest: "Bad Request", statusForbidden: "Forbidden", statusNotFound: "Not Found",
	statusInternalError: "Internal Server Error", statusNotImplemented: "Not Implemented",
}

// A Status is an error with the status code of its reply. Errors of a Router
// that are none count as bad requests.
type Status struct {
	Code int32
	Text string // empty: the words of the code
}

func (s *Status) Error() string {
	if s.Text == "" {
		return statusWords[s.Code]
	}
	return s.Text
}

// Errors that a Router gives.
var (
	ErrNotFound  = &Status{Code: statusNotFound}
	ErrForbidden = &Status{Code: statusForbidden, Text: "You are not allowed to perform this operation."}
)

// Forbidden is ErrForbidden with what can be done instead.
func Forbidden(instead string) *Status {
	return &Status{statusForbidden, ErrForbidden.Text + " " + instead}
}

func badRequest(format string, args ...any) *Status {
	return &Status{statusBadRequest, fmt.Sprintf(format, args...)}
}

func notImplemented(format string, args ...any) *Status {
	return &Status{statusNotImplemented, fmt.Sprintf(format, args...)}
}

func statusOf(err error) *Status {
	var s *Status
	if errors.As(err, &s) {
		return s
	}
	return &Status{statusBadRequest, err.Error()}
}

// brief returns text of a request for an answer.
func brief(text string) string {
	if len(text) <= quoteLimit {
		return text
	}
	cut := quoteLimit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
