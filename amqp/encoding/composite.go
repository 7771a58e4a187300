package encoding

import "sluice/amqp"

// Composite writes the list of a composite type, field by field in the order of the spec. An absent field is written as
// null and trailing nulls are dropped at the end (§1.4). Each method says with has whether the field is present.
//
//	w := encoding.BeginComposite(b, encoding.DescTarget)
//	w.String(t.Address, t.HasAddress)
//	w.Uint(t.Durable, t.Durable != 0)
//	return w.End()
type Composite struct {
	b         []byte
	mark      Mark
	count     int
	used      int // count up to the last field present
	usedBytes int // len(b) then
}

// BeginComposite appends the descriptor and opens the list.
func BeginComposite(b []byte, descriptor uint64) Composite {
	b, m := BeginList(AppendDescriptor(b, descriptor))
	return Composite{b: b, mark: m, usedBytes: len(b)}
}

// End closes the list and returns the extended slice.
func (w *Composite) End() []byte {
	return EndList(w.b[:w.usedBytes], w.mark, w.used)
}

func (w *Composite) null() {
	w.b = append(w.b, codeNull)
	w.count++
}

func (w *Composite) present(b []byte) {
	w.b = b
	w.count++
	w.used, w.usedBytes = w.count, len(b)
}

// Flag writes a boolean whose default is false.
func (w *Composite) Flag(v bool) { w.Bool(v, v) }

// Bool writes a boolean.
func (w *Composite) Bool(v, has bool) {
	if !has {
		w.null()
		return
	}
	w.present(AppendBool(w.b, v))
}

// Ubyte writes a ubyte.
func (w *Composite) Ubyte(v uint8, has bool) {
	if !has {
		w.null()
		return
	}
	w.present(AppendUbyte(w.b, v))
}

// Ushort writes a ushort.
func (w *Composite) Ushort(v uint16, has bool) {
	if !has {
		w.null()
		return
	}
	w.present(AppendUshort(w.b, v))
}

// Uint writes a uint.
func (w *Composite) Uint(v uint32, has bool) {
	if !has {
		w.null()
		return
	}
	w.present(AppendUint(w.b, v))
}

// Ulong writes a ulong.
func (w *Composite) Ulong(v uint64, has bool) {
	if !has {
		w.null()
		return
	}
	w.present(AppendUlong(w.b, v))
}

// Timestamp writes a timestamp.
func (w *Composite) Timestamp(ms int64, has bool) {
	if !has {
		w.null()
		return
	}
	w.present(AppendTimestamp(w.b, ms))
}

// Binary writes a binary; nil is absent.
func (w *Composite) Binary(v []byte) {
	if v == nil {
		w.null()
		return
	}
	w.present(AppendBinary(w.b, v))
}

// String writes a string.
func (w *Composite) String(v string, has bool) {
	if !has {
		w.null()
		return
	}
	w.present(AppendString(w.b, v))
}

// Symbol writes a symbol; the empty one is absent.
func (w *Composite) Symbol(v amqp.Symbol) {
	if v == "" {
		w.null()
		return
	}
	w.present(AppendSymbol(w.b, string(v)))
}

// Symbols writes an array of symbols; nil is absent.
func (w *Composite) Symbols(v []amqp.Symbol) {
	if v == nil {
		w.null()
		return
	}
	w.present(AppendSymbols(w.b, v))
}

// Multiple writes symbols of a field that may have several values: one by itself, more as an array (§1.4). Peers of the
// mesh know only this form of one.
func (w *Composite) Multiple(v []amqp.Symbol) {
	if len(v) == 1 {
		w.Symbol(v[0])
		return
	}
	w.Symbols(v)
}

// Raw writes an encoded value; nil is absent.
func (w *Composite) Raw(v []byte) {
	if v == nil {
		w.null()
		return
	}
	w.present(append(w.b, v...))
}

// Error writes an error; nil is absent.
func (w *Composite) Error(e *amqp.Error) {
	if e == nil {
		w.null()
		return
	}
	w.present(AppendError(w.b, e))
}

// Value writes what append appends, which must be one value.
func (w *Composite) Value(append func(b []byte) []byte) { w.present(append(w.b)) }

// Fields reads the list of a composite type, field by field in the order of the spec. Each method returns the value and
// whether it was present: null and the end of the list both mean absent (§1.4). After the first error all fields are
// absent and Finish returns the error, which names the type and the field.
type Fields struct {
	d    Decoder
	left int
	name string
	err  error
}

// Fields reads the header of the list that follows the descriptor of the composite type of that name. More than most
// fields is an error: a peer that means something we do not know must hear that.
func (d *Decoder) Fields(name string, most int) Fields {
	count, body, err := d.List()
	f := Fields{d: body, left: count, name: name, err: err}
	if err != nil {
		f.err = nil
		f.fail("", err)
	} else if count > most {
		f.Reject("", amqp.CondDecodeError, "%d fields, at most %d are defined", count, most)
	}
	return f
}

// Finish returns the first error, which includes content after the last field.
func (f *Fields) Finish() error {
	if f.err == nil && f.left == 0 {
		if err := f.d.End(); err != nil {
			f.fail("", err)
		}
	}
	return f.err
}

// Failed reports whether a field was in error, for callers whose next step depends on the fields so far.
func (f *Fields) Failed() bool { return f.err != nil }

// Reject records an error about a field, unless there was one.
func (f *Fields) Reject(field string, c amqp.Condition, format string, args ...any) {
	f.fail(field, amqp.Errorf(c, format, args...))
}

func (f *Fields) fail(field string, err error) {
	if f.err != nil {
		return
	}
	name := f.name
	if field != "" {
		name += "." + field
	}
	var e *amqp.Error
	switch err := err.(type) {
	case *amqp.Error:
		e = err
	case *UnknownDescriptor:
		e = err.err
	default:
		e = amqp.Errorf(amqp.CondDecodeError, "%v", err)
	}
	f.err = &amqp.Error{Condition: e.Condition, Description: name + ": " + e.Description}
}

// Require records an error if a mandatory field was absent.
func (f *Fields) Require(field string, has bool) {
	if !has && f.err == nil {
		f.Reject(field, amqp.CondDecodeError, "mandatory field is missing")
	}
}

// Next reports whether the next field is present; if so the Decoder is at it.
func (f *Fields) Next() (*Decoder, bool) {
	if f.left <= 0 || f.err != nil {
		return nil, false
	}
	f.left--
	return &f.d, !f.d.IsNull()
}

// Bool reads a boolean field.
func (f *Fields) Bool(field string) (v, ok bool) {
	d, ok := f.Next()
	if !ok {
		return false, false
	}
	v, err := d.Bool()
	if err != nil {
		f.fail(field, err)
		return false, false
	}
	return v, true
}

// Flag reads a boolean field whose default is false.
func (f *Fields) Flag(field string) bool {
	v, _ := f.Bool(field)
	return v
}

// Ubyte reads a ubyte field.
func (f *Fields) Ubyte(field string) (v uint8, ok bool) {
	d, ok := f.Next()
	if !ok {
		return 0, false
	}
	v, err := d.Ubyte()
	if err != nil {
		f.fail(field, err)
		return 0, false
	}
	return v, true
}

// Ushort reads a ushort field.
func (f *Fields) Ushort(field string) (v uint16, ok bool) {
	d, ok := f.Next()
	if !ok {
		return 0, false
	}
	v, err := d.Ushort()
	if err != nil {
		f.fail(field, err)
		return 0, false
	}
	return v, true
}

// Uint reads a uint field.
func (f *Fields) Uint(field string) (v uint32, ok bool) {
	d, ok := f.Next()
	if !ok {
		return 0, false
	}
	v, err := d.Uint()
	if err != nil {
		f.fail(field, err)
		return 0, false
	}
	return v, true
}

// Ulong reads a ulong field.
func (f *Fields) Ulong(field string) (v uint64, ok bool) {
	d, ok := f.Next()
	if !ok {
		return 0, false
	}
	v, err := d.Ulong()
	if err != nil {
		f.fail(field, err)
		return 0, false
	}
	return v, true
}

// Timestamp reads a timestamp field.
func (f *Fields) Timestamp(field string) (ms int64, ok bool) {
	d, ok := f.Next()
	if !ok {
		return 0, false
	}
	ms, err := d.Timestamp()
	if err != nil {
		f.fail(field, err)
		return 0, false
	}
	return ms, true
}

// Binary reads a binary field and copies it; nil is absent.
func (f *Fields) Binary(field string) []byte {
	d, ok := f.Next()
	if !ok {
		return nil
	}
	v, err := d.Binary()
	if err != nil {
		f.fail(field, err)
		return nil
	}
	return clone(v)
}

// String reads a string field and copies it.
func (f *Fields) String(field string) (v string, ok bool) {
	d, ok := f.Next()
	if !ok {
		return "", false
	}
	s, err := d.String()
	if err != nil {
		f.fail(field, err)
		return "", false
	}
	return string(s), true
}

// Symbol reads a symbol field and copies it; absent is the empty symbol.
func (f *Fields) Symbol(field string) amqp.Symbol {
	d, ok := f.Next()
	if !ok {
		return ""
	}
	s, err := d.Symbol()
	if err != nil {
		f.fail(field, err)
		return ""
	}
	return amqp.Symbol(s)
}

// Symbols reads a symbol field with multiple="true" and copies it; nil is absent.
func (f *Fields) Symbols(field string) []amqp.Symbol {
	d, ok := f.Next()
	if !ok {
		return nil
	}
	v, err := d.SymbolArray()
	if err != nil {
		f.fail(field, err)
		return nil
	}
	return v
}

// Raw reads a field of any type and copies its encoding; nil is absent.
func (f *Fields) Raw(field string) []byte {
	d, ok := f.Next()
	if !ok {
		return nil
	}
	v, err := d.Raw()
	if err != nil {
		f.fail(field, err)
		return nil
	}
	return clone(v)
}

// Map reads a field that must be a map and copies its encoding; nil is absent.
func (f *Fields) Map(field string) []byte {
	d, ok := f.Next()
	if !ok {
		return nil
	}
	v, err := d.RawMap()
	if err != nil {
		f.fail(field, err)
		return nil
	}
	return clone(v)
}

// Error reads an error field; nil is absent.
func (f *Fields) Error(field string) *amqp.Error {
	d, ok := f.Next()
	if !ok {
		return nil
	}
	e, err := d.AMQPError()
	if err != nil {
		f.fail(field, err)
		return nil
	}
	return e
}

// Fail records err, from a read on the Decoder that Next returned, as the error of a field.
func (f *Fields) Fail(field string, err error) { f.fail(field, err) }

// clone copies v and keeps an empty value apart from an absent one.
func clone(v []byte) []byte { return append(make([]byte, 0, len(v)), v...) }
