import HTTPTypes
import NIOHTTP1
import Testing

@testable import CloudKitHTTP

@Suite(.timeLimit(.minutes(20))) struct RequestHeadersTests {
    @Test func `names count without the case of their letters, values without the blanks around them`() {
        let headers = RequestHeaders([("ACCEPT", " text/html\t"), ("x-apple-request-uuid", "1"), ("Range", " \t ")])
        #expect(headers[.accept] == "text/html")
        #expect(headers[HeaderName.requestUUID] == "1")
        #expect(headers[.range] == "")
        #expect(headers[.contentType] == nil)
    }

    @Test func `fields of one name are joined, cookies by semicolons`() {
        let headers = RequestHeaders([("Accept", "a"), ("Cookie", "b=1"), ("accept", "c"), ("cookie", "d=2")])
        #expect(headers[.accept] == "a, c")
        #expect(headers[.cookie] == "b=1; d=2")
    }

    @Test func `a name is found by its beginning`() {
        let headers = RequestHeaders([("Host", "a"), ("X-Welkin-Client", "sdk/1")])
        #expect(headers.firstName(prefix: "x-welkin-") == "x-welkin-client")
        #expect(headers.firstName(prefix: "x-apple-") == nil)
    }

    @Test func `a name that differs in a sign between letters is another one`() {
        func isNamed(_ name: String) -> Bool {
            RequestHeaders([(name, "")]).contains { $0.isNamed("x-forwarded-proto") }
        }
        #expect(isNamed("X-Forwarded-Proto"))
        #expect(!isNamed("X-Forwarded_Proto") && !isNamed("X\rForwarded-Proto") && !isNamed("X-Forwarded-Prot"))
    }

    @Test func `what every request is searched for is found in one pass`() {
        let known = KnownHeaders(
            RequestHeaders([
                ("Host", "a"), ("HOST", "b"), ("Content-Length", "7"), ("X-Welkin-Client", "sdk/1"), ("Origin", "c"),
                ("Transfer-Encoding", "chunked"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Proto", "http"),
                ("X-Apple-CloudKit-Request-KeyID", "d"), ("X-Apple-CloudKit-Request-ISO8601Date", "e"),
                ("X-Apple-CloudKit-Request-SignatureV1", "f"), ("X-Welkin-Request", "g"),
                ("X-Welkin-Operation", "h"), ("X-Welkin-Operation-Group", "i"),
                ("X-Welkin-Operation-Group-Name", "j%20k"), ("X-Welkin-Group-Quantity", "l"),
                ("X-Welkin-Group-Expected-Send", "m"), ("X-Welkin-Group-Expected-Receive", "n"),
            ]))
        #expect(known.host == "a" && known.hasFurtherHost)
        #expect(known.contentLength == 7 && known.hasTransferEncoding)
        #expect(known.client == "sdk/1" && known.origin == "c" && known.forwardedProtocol == "https, http")
        #expect(known.keyID == "d" && known.signedDate == "e" && known.signature == "f" && known.attempt == "g")
        #expect(known.labels?.operation == "h" && known.labels?.group == "i" && known.labels?.groupName == "j k")
        #expect(known.labels?.groupQuantity == "l")
        #expect(known.labels?.expectedSend == "m" && known.labels?.expectedReceive == "n")
        #expect(KnownHeaders(RequestHeaders([("Host", "a")])).labels == nil)
    }

    @Test(arguments: [
        ("/a?b", "/a?b"), ("http://cloud.example/a?b", "/a?b"), ("http://cloud.example?b", "/?b"),
        ("http://cloud.example", "/"), ("*", "*"), ("cloud.example:443", "cloud.example:443"),
    ])
    func `a target may name scheme and host`(_ uri: String, _ target: String) throws {
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: uri)
        #expect(RequestHead(head)?.target == target)
    }

    @Test func `methods keep their names`() {
        for method in [HTTPMethod.GET, .POST, .PUT, .DELETE, .OPTIONS, .HEAD, .PATCH] {
            #expect(
                RequestHead(HTTPRequestHead(version: .http1_1, method: method, uri: "/"))?.method.rawValue
                    == method.rawValue)
        }
    }

    @Test(
        arguments: [
            ("127.0.0.1", "127.0.0.1"), ("LOCALHOST:8080", "localhost"), ("[::1]:8080", "[::1]"),
            ("a.example.", "a.example"),
            ("a:", "a"), ("a:65535", "a"), (".", "."), ("a:65536", nil), ("a:000001", nil), ("[]", nil), ("[::1", nil),
            ("[::1]x", nil), ("a b", nil), ("", nil), (":80", nil), ("a:-1", nil), ("ä.example", nil),
        ] as [(String, String?)])
    func `a host is a name or an address`(_ text: String, _ name: String?) {
        #expect(RequestHost(text)?.name == name)
        #expect(RequestHost.isValid(text) == (name != nil))
    }
}
