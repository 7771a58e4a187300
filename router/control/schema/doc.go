// Package schema describes every entity type of the management model and each
// of its attributes: type, default, permitted values, older spellings, and
// whether sluice acts on it.
//
// The facts are two tables that are part of the program, entities.tsv and
// attributes.tsv. They list the model of Qpid Dispatch 1.19, so that its
// configurations and tools keep working, and the attributes of sluice's own,
// which are marked ([Attribute.Own]). What a table says is typed, checked once
// at start, and read-only from then on.
//
// Package config validates files with it; management answers GET-SCHEMA from
// it.
package schema
