import Foundation
import FreePorts
import Synchronization

/// A server with the interface of S3 for tests: OpenStack Swift, all of its parts in a temporary folder, which is gone when the process of
/// the tests ends, however it ends. It runs as `nobody` where the tests run as root.
package final class ObjectServer: Sendable {
    private let control: FileHandle
    /// The port on the loopback address.
    package let port: Int
    /// The bucket that the server has.
    package static let bucket = "files"
    /// The name of the key.
    package static let accessKey = "test:tester"
    /// The key.
    package static let secretKey = "a-secret-of-tests"

    /// Why there is no server; nil: OpenStack Swift is installed.
    package static let missing: String? =
        ["swift-proxy-server", "swift-account-server", "swift-container-server", "swift-object-server", "python3"]
            .allSatisfy {
                FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0)
            }
        ? nil : "OpenStack Swift is not installed (Debian: swift-proxy swift-account swift-container swift-object)"

    /// A server that all tests of the process share.
    package static func shared() async throws -> ObjectServer { try await sharedTask.value }

    private static let sharedTask = Task { try ObjectServer() }

    /// The address of the server.
    package var endpoint: String { "http://127.0.0.1:\(port)" }

    private init() throws {
        if let missing = Self.missing { throw Failure(text: missing) }
        let folder = "/tmp/welkin-s3-" + UUID().uuidString.prefix(8).lowercased()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let ports = try freePorts(4)
        port = ports[0]
        let (input, output) = (Pipe(), Pipe())
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments =
            ["-c", Self.script, "welkin-s3", folder, Self.servers, Self.bucketMaker, Self.bucket, Self.secretKey]
            + ports.map(String.init)
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        // A child that holds the other end would keep the server alive.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        control = input.fileHandleForWriting
        try process.run()
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
        var line: [UInt8] = []
        while line.last != 10 {
            guard let byte = try output.fileHandleForReading.read(upToCount: 1)?.first else {
                throw Failure(text: "the server ended")
            }
            line.append(byte)
        }
        let text = String(decoding: line.dropLast(), as: UTF8.self)
        guard text == "done" else { throw Failure(text: text) }
    }

    /// The reason why the server does not run.
    package struct Failure: Error, CustomStringConvertible {
        let text: String
        package var description: String { "OpenStack Swift: \(text)" }
    }

    /// Starts the servers, makes the bucket, and removes all of it when nobody can tell it anything any more.
    private static let script = """
        folder=$1 servers=$2 maker=$3
        as=()
        user=$(id -un)
        if [[ $(id -u) -eq 0 ]]; then
            chown nobody "$folder"
            as=(setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups)
            user=nobody
        fi
        cd "$folder"
        export HOME=$folder PATH=/usr/bin:/bin
        setsid "${as[@]}" /bin/bash -c "$servers" welkin-s3 "$folder" "$user" "${@:5}" </dev/null >log 2>&1 &
        group=$!
        if /usr/bin/python3 -c "$maker" "$4" "$5" "$6" >maker.log 2>&1; then
            echo done
        else
            echo "cannot be started: $(tail -n 3 log maker.log ./*.log)" | tr '\\n' ' '
            echo
        fi
        while read -r _; do :; done
        # Each has made a session of its own, and has the tests' mask of signals, which may block others.
        kill -KILL $(cat pids)
        kill -KILL -- -$group
        rm -rf "$folder"
        """

    private static let servers = """
        folder=$1 user=$2 secret=$3 ports=("${@:4}") kinds=(proxy account container object)
        mkdir -p disk/d1 etc cache
        cat >etc/swift.conf <<END
        [swift-hash]
        swift_hash_path_suffix = a
        swift_hash_path_prefix = b
        END
        cd etc
        for n in 1 2 3; do
            kind=${kinds[n]}
            cat >$kind.conf <<END
        [DEFAULT]
        bind_ip = 127.0.0.1
        bind_port = ${ports[n]}
        swift_dir = $folder/etc
        devices = $folder/disk
        mount_check = false
        disable_fallocate = true
        workers = 0
        user = $user
        log_level = ERROR
        [pipeline:main]
        pipeline = $kind-server
        [app:$kind-server]
        use = egg:swift#$kind
        recon_cache_path = $folder/cache
        END
            swift-ring-builder $kind.builder create 4 1 0
            swift-ring-builder $kind.builder add --region 1 --zone 1 --ip 127.0.0.1 --port "${ports[n]}" --device d1 --weight 1
            swift-ring-builder $kind.builder rebalance
        done
        cat >proxy.conf <<END
        [DEFAULT]
        bind_ip = 127.0.0.1
        bind_port = ${ports[0]}
        swift_dir = $folder/etc
        workers = 0
        user = $user
        log_level = ERROR
        [pipeline:main]
        pipeline = catch_errors cache listing_formats bulk s3api tempauth slo dlo proxy-server
        [app:proxy-server]
        use = egg:swift#proxy
        account_autocreate = true
        [filter:catch_errors]
        use = egg:swift#catch_errors
        [filter:cache]
        use = egg:swift#memcache
        [filter:listing_formats]
        use = egg:swift#listing_formats
        [filter:bulk]
        use = egg:swift#bulk
        [filter:s3api]
        use = egg:swift#s3api
        [filter:tempauth]
        use = egg:swift#tempauth
        user_test_tester = $secret .admin
        [filter:slo]
        use = egg:swift#slo
        [filter:dlo]
        use = egg:swift#dlo
        END
        cd ..
        for kind in "${kinds[@]}"; do
            swift-$kind-server etc/$kind.conf >$kind.log 2>&1 &
            echo $! >>pids
        done
        wait
        """

    /// Makes the bucket with a signature of its own, as soon as the server answers.
    private static let bucketMaker = """
        import datetime, hashlib, hmac, http.client, sys, time
        bucket, secret, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
        empty = hashlib.sha256(b"").hexdigest()
        end = time.monotonic() + 120
        while True:
            stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
            host = f"127.0.0.1:{port}"
            names = "host;x-amz-content-sha256;x-amz-date"
            canonical = f"PUT\\n/{bucket}\\n\\nhost:{host}\\nx-amz-content-sha256:{empty}\\nx-amz-date:{stamp}\\n\\n{names}\\n{empty}"
            scope = f"{stamp[:8]}/us-east-1/s3/aws4_request"
            text = f"AWS4-HMAC-SHA256\\n{stamp}\\n{scope}\\n{hashlib.sha256(canonical.encode()).hexdigest()}"
            key = ("AWS4" + secret).encode()
            for part in scope.split("/"):
                key = hmac.new(key, part.encode(), hashlib.sha256).digest()
            signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                connection.request("PUT", "/" + bucket, headers={
                    "x-amz-date": stamp, "x-amz-content-sha256": empty,
                    "authorization": f"AWS4-HMAC-SHA256 Credential=test:tester/{scope},SignedHeaders={names},Signature={signature}"})
                answer = connection.getresponse()
                if answer.status == 200:
                    break
                problem = f"{answer.status} {answer.read()[:300]}"
            except OSError as error:
                problem = str(error)
            if time.monotonic() > end:
                sys.exit(problem)
            time.sleep(0.1)
        """
}
