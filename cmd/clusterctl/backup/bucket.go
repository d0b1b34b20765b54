package backup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// BucketScheme begins the name of a place in S3-compatible storage:
// s3://BUCKET/PREFIX.
const BucketScheme = "s3://"

// BucketOptions say how to reach S3-compatible storage. An empty field comes from
// the environment, by the names that Amazon's tools use.
type BucketOptions struct {
	// Endpoint is a URL. If it is empty, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or Amazon's is
	// used.
	Endpoint string
	// Region is the region. If it is empty, AWS_REGION or AWS_DEFAULT_REGION is used.
	Region string
	// AccessKey and SecretKey are credentials. If they are empty, AWS_ACCESS_KEY_ID,
	// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN are used, then the files of Amazon's tools, then
	// the role of a pod.
	AccessKey, SecretKey string
	// PartMB is the size of the pieces of a large file, in MiB. Each file that is being written has
	// one piece in memory, and may have 10 000 pieces.
	PartMB int
}

const (
	// partMBMin is S3's.
	partMBMin = 5
	// bucketSilenceMax is how long a transfer may go without a byte in either direction.
	bucketSilenceMax = 90 * time.Second
	// smallBytes is the size up to which a file is written in one request.
	smallBytes = 1 << 20
	// bucketTries is how often a request with a temporary error is made.
	bucketTries = 5
	// undoMax bounds how long Undo may take to delete the written files.
	undoMax = 30 * time.Second
)

// bucket is a Store in S3-compatible storage.
type bucket struct {
	client       *minio.Client
	name, prefix string
	partBytes    uint64

	mu      sync.Mutex // guards written
	written []string
}

// OpenStore opens the store with a name: a folder, or s3://BUCKET/PREFIX.
func OpenStore(where string, opt *BucketOptions) (Store, error) {
	rest, isBucket := strings.CutPrefix(where, BucketScheme)
	if !isBucket {
		return &Folder{Dir: where}, nil
	}
	name, prefix, _ := strings.Cut(rest, "/")
	if prefix = strings.Trim(prefix, "/"); name == "" || prefix == "" {
		return nil, fmt.Errorf("%q is not of the form %sBUCKET/PREFIX", where, BucketScheme)
	}
	if opt.PartMB < partMBMin {
		return nil, fmt.Errorf("a part of an upload has %d MB at least", partMBMin)
	}
	endpoint, err := url.Parse(firstOf(opt.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com"))
	if err != nil || endpoint.Host == "" || strings.Trim(endpoint.Path, "/") != "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return nil, errors.New("the endpoint of the storage is a URL like https://host:port")
	}
	transport, err := minio.DefaultTransport(endpoint.Scheme == "https")
	if err != nil {
		return nil, err
	}
	transport.DialContext = dialImpatiently
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentialsOf(opt), Secure: endpoint.Scheme == "https", Transport: transport, MaxRetries: bucketTries,
		Region: firstOf(opt.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
	})
	if err != nil {
		return nil, err
	}
	return &bucket{client: client, name: name, prefix: prefix, partBytes: uint64(opt.PartMB) << 20}, nil
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func credentialsOf(opt *BucketOptions) *credentials.Credentials {
	if opt.AccessKey != "" {
		return credentials.NewStaticV4(opt.AccessKey, opt.SecretKey, os.Getenv("AWS_SESSION_TOKEN"))
	}
	chain := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	for _, role := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if os.Getenv(role) != "" {
			chain = append(chain, &credentials.IAM{Client: &http.Client{Timeout: bucketSilenceMax}})
			break
		}
	}
	return credentials.NewChainCredentials(chain)
}

// impatient is a connection that breaks if nothing happens on it for too long.
type impatient struct{ net.Conn }

func dialImpatiently(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return impatient{conn}, nil
}

// Read implements net.Conn.
func (c impatient) Read(p []byte) (int, error) {
	_ = c.SetReadDeadline(time.Now().Add(bucketSilenceMax))
	return c.Conn.Read(p)
}

// Write implements net.Conn.
func (c impatient) Write(p []byte) (int, error) {
	now := time.Now()
	// An answer follows the write, and may take as long from now on.
	_ = c.SetDeadline(now.Add(bucketSilenceMax))
	return c.Conn.Write(p)
}

// String implements Source.
func (b *bucket) String() string { return BucketScheme + b.name + "/" + b.prefix }

func (b *bucket) key(name string) string { return b.prefix + "/" + name }

// Open implements Source.
func (b *bucket) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	object, err := b.client.GetObject(ctx, b.name, b.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, 0, b.said(err, name)
	}
	info, err := object.Stat()
	if err != nil {
		return nil, 0, errors.Join(b.said(err, name), object.Close())
	}
	return object, info.Size, nil
}

// said turns the error for a missing file into fs.ErrNotExist, and adds the place to the message.
func (b *bucket) said(err error, name string) error {
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		err = fs.ErrNotExist
	}
	return fmt.Errorf("%s/%s: %w", b, name, err)
}

// Claim implements Sink. It ends interrupted uploads under this prefix.
func (b *bucket) Claim(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	o, some := <-b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + "/", Recursive: true, MaxKeys: 1})
	switch {
	case o.Err != nil:
		return fmt.Errorf("%s: %w", b, o.Err)
	case some:
		return fmt.Errorf("%s is not empty (%s is in it); a backup overwrites nothing", b, strings.TrimPrefix(o.Key, b.prefix+"/"))
	}
	for u := range b.client.ListIncompleteUploads(ctx, b.name, b.prefix+"/", true) {
		if isNoUpload(u.Err) {
			break
		}
		if u.Err != nil {
			return fmt.Errorf("%s: %w", b, u.Err)
		}
		if err := b.endUploads(ctx, u.Key); err != nil {
			return fmt.Errorf("%s: an upload that broke off cannot be ended: %w", b, err)
		}
	}
	return nil
}

// isNoUpload reports an answer that some storage gives instead of an empty list.
func isNoUpload(err error) bool { return minio.ToErrorResponse(err).Code == minio.NoSuchUpload }

// endUploads ends the unfinished uploads of a file.
func (b *bucket) endUploads(ctx context.Context, key string) error {
	if err := b.client.RemoveIncompleteUpload(ctx, b.name, key); err != nil && !isNoUpload(err) {
		return err
	}
	return nil
}

// Write implements Sink. The storage checks each part by its checksum; the file
// exists once all parts have arrived. A small file goes in one request.
func (b *bucket) Write(ctx context.Context, name string, in io.Reader) error {
	b.mu.Lock()
	b.written = append(b.written, name)
	b.mu.Unlock()
	size := int64(-1)
	all := bufio.NewReaderSize(in, smallBytes)
	head, err := all.Peek(smallBytes)
	switch {
	case err == io.EOF:
		size = int64(len(head))
	case err != nil:
		return err
	}
	_, err = b.client.PutObject(ctx, b.name, b.key(name), all, size, minio.PutObjectOptions{
		ContentType: "application/octet-stream", PartSize: b.partBytes,
	})
	if err != nil {
		return b.said(err, name)
	}
	return nil
}

// Undo implements Sink.
func (b *bucket) Undo() error {
	ctx, cancel := context.WithTimeout(context.Background(), undoMax)
	defer cancel()
	b.mu.Lock()
	defer b.mu.Unlock()
	var all error
	for _, name := range b.written {
		all = errors.Join(all,
			b.endUploads(ctx, b.key(name)),
			b.client.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{}))
	}
	b.written = nil
	return all
}

// Beside implements Shelf.
func (b *bucket) Beside(ctx context.Context) ([]Shelf, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	where := b.prefix[:strings.LastIndexByte(b.prefix, '/')+1]
	var places []Shelf
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: where}) {
		if o.Err != nil {
			return nil, fmt.Errorf("%s: %w", b, o.Err)
		}
		if prefix, isPlace := strings.CutSuffix(o.Key, "/"); isPlace && prefix != b.prefix && prefix+"/" != where {
			places = append(places, &bucket{client: b.client, name: b.name, prefix: prefix, partBytes: b.partBytes})
		}
	}
	return places, nil
}

// Holds implements Shelf.
func (b *bucket) Holds(ctx context.Context) (map[string]int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	files := map[string]int64{}
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + "/", Recursive: true}) {
		if o.Err != nil {
			return nil, fmt.Errorf("%s: %w", b, o.Err)
		}
		files[strings.TrimPrefix(o.Key, b.prefix+"/")] = o.Size
	}
	return files, nil
}

// Delete implements Shelf.
func (b *bucket) Delete(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := b.client.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{}); err != nil {
			return b.said(err, name)
		}
	}
	return nil
}
