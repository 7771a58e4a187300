package config

// Options say how files are loaded.
type Options struct {
	Hostname string // makes the router id when none is given; empty: os.Hostname
	Override Overrides
}

// Overrides is what the command line adds to the files.
type Overrides struct {
	Listen []string // host:port of additional AMQP listeners; they replace those of the files
	ID     string   // router id
}

// Load reads the files. Mistakes come as Problems, in the order of files and
// lines; with any of them the Config is nil. Warnings are in the Config.
func Load(paths []string, opts Options) (*Config, Problems) { return &Config{}, nil }

// Default returns what runs without any configuration file.
func Default(opts Options) *Config { return &Config{} }
