import CCurl

/// One request under way: libcurl's handle for it, and the part of the answer that has arrived. Used on its loop's thread
/// alone.
final class Transfer {
    let pending: PendingRequest
    let handle: UnsafeMutableRawPointer
    private var lines: UnsafeMutablePointer<curl_slist>?
    private var header = HeaderReader()
    private var body: [UInt8] = []
    private var bytesUp: curl_off_t = 0
    /// The time of the last byte in either direction.
    private var lastSign = ContinuousClock.now
    /// The number of times that the request was about to be written.
    private var attempts = 0
    /// The reason why a callback stopped the transfer.
    private var stop: HTTPClient.Failure?
    /// Whether an address was skipped because it is not a public one.
    private var hasSkipped = false

    /// A connection that was idle for longer is not used again: the other side, or something on the way, may have forgotten it.
    private static let idleSecondsMax = 50
    private static let bufferBytes = 128 << 10

    /// nil when libcurl gives no handle, or cannot keep all that was said about this one.
    init?(_ pending: PendingRequest, authoritiesFile: String?) {
        guard let handle = curl_easy_init() else { return nil }
        self.pending = pending
        self.handle = handle
        guard setRules(authoritiesFile: authoritiesFile), setRequest(pending.request), setCallbacks() else {
            return nil
        }
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(lines)
    }

    /// The time at which it has been silent for too long.
    var due: ContinuousClock.Instant { lastSign + pending.request.timeLimit }

    var progress: RequestProgress {
        if attempts == 0 || ccurl_get_long(handle, CURLINFO_REQUEST_SIZE) == 0 { return .notBegun }
        let sent = max(ccurl_get_size(handle, CURLINFO_SIZE_UPLOAD_T), bytesUp)
        return sent >= pending.request.body.count ? .written : .begun
    }

    /// Returns the outcome that libcurl's last code for the transfer stands for.
    func outcome(_ code: CURLcode) -> Result<HTTPClient.Answer, any Error> {
        if let stop { return .failure(stop) }
        if code != CURLE_OK, hasSkipped, progress == .notBegun { return .failure(Self.notPublic) }
        guard code == CURLE_OK else {
            return .failure(
                HTTPClient.Failure(
                    code, at: progress, systemError: ccurl_get_long(handle, CURLINFO_OS_ERRNO)))
        }
        let status = ccurl_get_long(handle, CURLINFO_RESPONSE_CODE)
        // libcurl takes a header that breaks off for one that is over.
        guard header.isOver, status >= 200 else {
            return .failure(HTTPClient.Failure(CURLE_PARTIAL_FILE, at: .written))
        }
        return .success(HTTPClient.Answer(status: status, headers: header.fields, body: body))
    }

    // MARK: Setting up

    private func setRules(authoritiesFile: String?) -> Bool {
        var codes = [
            ccurl_set_web_only(handle),
            ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1),
            ccurl_set_long(handle, CURLOPT_FOLLOWLOCATION, 0),
            ccurl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 1),
            ccurl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 2),
            ccurl_set_long(handle, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
            ccurl_set_long(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS),
            ccurl_set_long(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
            ccurl_set_long(handle, CURLOPT_TCP_KEEPALIVE, 1),
            ccurl_set_long(handle, CURLOPT_MAXAGE_CONN, Self.idleSecondsMax),
            ccurl_set_long(handle, CURLOPT_BUFFERSIZE, Self.bufferBytes),
            // All that this libcurl can unpack; the limit of an answer holds for the unpacked bytes.
            ccurl_set_text(handle, CURLOPT_ACCEPT_ENCODING, ""),
        ]
        if let authoritiesFile { codes.append(ccurl_set_text(handle, CURLOPT_CAINFO, authoritiesFile)) }
        return codes.allSatisfy { $0 == CURLE_OK }
    }

    private func setRequest(_ request: HTTPClient.Request) -> Bool {
        var codes = [ccurl_set_text(handle, CURLOPT_URL, request.url)]
        if request.isLocal || request.reach == .publicOnly {
            codes.append(ccurl_set_text(handle, CURLOPT_NOPROXY, "*"))
        }
        if request.method == "HEAD" {
            codes.append(ccurl_set_long(handle, CURLOPT_NOBODY, 1))
        } else if request.method != "GET" {
            codes += [
                ccurl_set_long(handle, CURLOPT_POST, 1),
                ccurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)),
                // libcurl copies them, since nothing promises that an array's bytes stay where they are.
                request.body.withUnsafeBytes { bytes in
                    ccurl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress ?? UnsafeRawPointer(handle))
                },
                ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method),
            ]
        }
        // Without these two, libcurl would wait for a "100 Continue", and take a body for a form.
        var headers = ["Expect": nil, "Content-Type": nil] as [String: String?]
        for (name, value) in request.headers {
            if let known = headers.keys.first(where: { $0.lowercased() == name.lowercased() }) { headers[known] = nil }
            headers[name] = value
        }
        guard headers.allSatisfy({ add($0, $1) }) else { return false }
        codes.append(ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, lines))
        return codes.allSatisfy { $0 == CURLE_OK }
    }

    /// In libcurl's words: `Name:` is a header that must not be sent, `Name;` one without value.
    private func add(_ name: String, _ value: String?) -> Bool {
        let line = value.map { $0.isEmpty ? name + ";" : name + ": " + $0 } ?? name + ":"
        guard let longer = curl_slist_append(lines, line) else { return false }
        lines = longer
        return true
    }

    private func setCallbacks() -> Bool {
        // libcurl calls back only inside calls of the loop, which keeps the transfer as long as it has the handle.
        let owner = Unmanaged.passUnretained(self).toOpaque()
        if pending.request.reach == .publicOnly {
            let codes = [
                ccurl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, owner),
                ccurl_set_socket_callback(handle) { owner, _, address in
                    guard let address, Transfer.of(owner)?.mayConnect(to: address) == true else {
                        return CURL_SOCKET_BAD
                    }
                    return ccurl_open_socket(address)
                },
            ]
            guard codes.allSatisfy({ $0 == CURLE_OK }) else { return false }
        }
        return [
            ccurl_set_pointer(handle, CURLOPT_HEADERDATA, owner),
            ccurl_set_bytes_callback(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, owner in
                Transfer.of(owner)?.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
            },
            ccurl_set_pointer(handle, CURLOPT_WRITEDATA, owner),
            ccurl_set_bytes_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, owner in
                Transfer.of(owner)?.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
            },
            ccurl_set_pointer(handle, CURLOPT_PREREQDATA, owner),
            ccurl_set_prerequest_callback(handle) { owner, remote, _, _, _ in
                Transfer.of(owner)?.mayWrite(to: remote) == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            },
            ccurl_set_long(handle, CURLOPT_NOPROGRESS, 0),
            ccurl_set_pointer(handle, CURLOPT_XFERINFODATA, owner),
            ccurl_set_progress_callback(handle) { owner, _, _, _, up in
                Transfer.of(owner)?.noteSent(up)
                return 0
            },
        ].allSatisfy { $0 == CURLE_OK }
    }

    private static func of(_ owner: UnsafeMutableRawPointer?) -> Transfer? {
        owner.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: What libcurl calls

    private func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        lastSign = .now
        guard header.read(line) else { return refuse("The header of the answer is too long") }
        return line.count
    }

    private func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastSign = .now
        guard body.count + bytes.count <= pending.request.answerBytesMax else {
            return refuse("The answer is too large")
        }
        if body.isEmpty {
            let announced = ccurl_get_size(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
            // The announced bytes are not yet here, and may never come.
            body.reserveCapacity(min(Int(max(announced, 0)), 8 << 20))
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    /// Anything but the number of bytes ends the transfer.
    private func refuse(_ reason: String) -> Int {
        stop = HTTPClient.Failure(.answerTooLarge, reason: reason)
        return 0
    }

    private func noteSent(_ up: curl_off_t) {
        guard up > bytesUp else { return }
        bytesUp = up
        lastSign = .now
    }

    /// There is a connection, and the request is about to be written to it.
    ///
    /// libcurl sends whatever it likes again when a connection it used before turns out to be dead. A save that the other side
    /// may have got must not go out twice (B-THR-07).
    private func mayWrite(to remote: UnsafePointer<CChar>?) -> Bool {
        lastSign = .now
        // A connection that is used again was not connected for this request.
        guard pending.request.reach == .anywhere || remote.map({ String(cString: $0) }).map(Self.isPublic) == true
        else {
            stop = Self.notPublic
            return false
        }
        attempts += 1
        guard attempts > 1, !pending.request.isRepeatable, ccurl_get_long(handle, CURLINFO_REQUEST_SIZE) > 0 else {
            return true
        }
        stop = HTTPClient.Failure(.answerLost, reason: "The connection was closed instead of an answer")
        return false
    }

    // MARK: Where to

    private static let notPublic = HTTPClient.Failure(
        .unreachable, reason: "The host has no address in the public network")

    /// Whether libcurl may connect to an address. The name was resolved already: nothing can change between the look and the
    /// connection.
    private func mayConnect(to address: UnsafePointer<curl_sockaddr>) -> Bool {
        let bytes = UnsafeRawBufferPointer(
            start: ccurl_address(address), count: Int(address.pointee.addrlen))
        let isPublic = NetworkAddress(socketAddress: bytes)?.isPublic ?? false
        if !isPublic { hasSkipped = true }
        return isPublic
    }

    private static func isPublic(_ text: String) -> Bool { NetworkAddress(text)?.isPublic ?? false }
}
