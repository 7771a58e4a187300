package tlsprofile

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"strings"
)

// ErrNoPassword is a key that is encrypted, of a profile that has no password.
var ErrNoPassword = errors.New("the key is encrypted, and the profile has no password")

var (
	errWrongPassword = errors.New("the password does not decrypt the key")
	errNoKey         = errors.New("no private key in PEM form")
)

// decryptKey returns the private key of a PEM file as PEM without encryption.
func decryptKey(file []byte, password string) ([]byte, error) {
	for rest := file; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, errNoKey
		}
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue
		}
		//lint:ignore SA1019 Existing keys have this form, however weak it is.
		legacy := x509.IsEncryptedPEMBlock(block)
		if !legacy && block.Type != "ENCRYPTED PRIVATE KEY" {
			return pem.EncodeToMemory(block), nil
		}
		if password == "" {
			return nil, ErrNoPassword
		}
		if legacy {
			//lint:ignore SA1019 See above.
			der, err := x509.DecryptPEMBlock(block, []byte(password))
			if err != nil {
				return nil, errWrongPassword
			}
			return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: der}), nil
		}
		der, err := decryptPKCS8(block.Bytes, password)
		if err != nil {
			return nil, err
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
	}
}

// The structures of RFC 5958 §3 and RFC 8018 appendix A, which is how OpenSSL
// has encrypted keys since 1.0.

type encryptedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

type pbes2Params struct {
	KDF    pkix.AlgorithmIdentifier
	Cipher pkix.AlgorithmIdentifier
}

type pbkdf2Params struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
}

var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
)

var prfs = map[string]func() hash.Hash{
	"":                    sha1.New, // the default
	"1.2.840.113549.2.7":  sha1.New,
	"1.2.840.113549.2.8":  sha256.New224,
	"1.2.840.113549.2.9":  sha256.New,
	"1.2.840.113549.2.10": sha512.New384,
	"1.2.840.113549.2.11": sha512.New,
}

var keyCiphers = map[string]struct {
	keyLength int
	make      func([]byte) (cipher.Block, error)
}{
	"2.16.840.1.101.3.4.1.2":  {16, aes.NewCipher},
	"2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
	"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
	"1.2.840.113549.3.7":      {24, des.NewTripleDESCipher},
}

// maxIterations bounds the time that a key file can cost. OpenSSL's default is
// 2048, cautious people use some hundred thousand.
const maxIterations = 10_000_000

func decryptPKCS8(der []byte, password string) ([]byte, error) {
	var key encryptedKey
	var params pbes2Params
	var kdf pbkdf2Params
	var iv []byte
	if _, err := asn1.Unmarshal(der, &key); err != nil {
		return nil, fmt.Errorf("the encrypted key is malformed: %w", err)
	}
	if !key.Algorithm.Algorithm.Equal(oidPBES2) {
		return nil, unsupported(key.Algorithm.Algorithm)
	}
	if _, err := asn1.Unmarshal(key.Algorithm.Parameters.FullBytes, &params); err != nil {
		return nil, fmt.Errorf("the encrypted key is malformed: %w", err)
	}
	if !params.KDF.Algorithm.Equal(oidPBKDF2) {
		return nil, unsupported(params.KDF.Algorithm)
	}
	if _, err := asn1.Unmarshal(params.KDF.Parameters.FullBytes, &kdf); err != nil {
		return nil, fmt.Errorf("the encrypted key is malformed: %w", err)
	}
	if _, err := asn1.Unmarshal(params.Cipher.Parameters.FullBytes, &iv); err != nil {
		return nil, fmt.Errorf("the encrypted key is malformed: %w", err)
	}
	prf, ok := prfs[kdf.PRF.Algorithm.String()]
	if !ok {
		return nil, unsupported(kdf.PRF.Algorithm)
	}
	c, ok := keyCiphers[params.Cipher.Algorithm.String()]
	if !ok {
		return nil, unsupported(params.Cipher.Algorithm)
	}
	if kdf.Iterations < 1 || kdf.Iterations > maxIterations {
		return nil, fmt.Errorf("the encrypted key demands %d iterations", kdf.Iterations)
	}
	secret, err := pbkdf2.Key(prf, password, kdf.Salt, kdf.Iterations, c.keyLength)
	if err != nil {
		return nil, err
	}
	block, err := c.make(secret)
	if err != nil {
		return nil, err
	}
	size := block.BlockSize()
	if len(iv) != size || len(key.Data) == 0 || len(key.Data)%size != 0 {
		return nil, errors.New("the encrypted key is malformed")
	}
	plain := make([]byte, len(key.Data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, key.Data)
	// RFC 8018 §6.2: the padding tells a wrong password, nearly always.
	n := int(plain[len(plain)-1])
	if n < 1 || n > size || !bytes.HasSuffix(plain, bytes.Repeat([]byte{byte(n)}, n)) {
		return nil, errWrongPassword
	}
	plain = plain[:len(plain)-n]
	if _, err := x509.ParsePKCS8PrivateKey(plain); err != nil {
		return nil, errWrongPassword
	}
	return plain, nil
}

func unsupported(oid asn1.ObjectIdentifier) error {
	return fmt.Errorf("the key is encrypted in a way that is not supported (%s); "+
		"openssl pkcs8 -topk8 -v2 aes-256-cbc writes one that is", oid)
}
