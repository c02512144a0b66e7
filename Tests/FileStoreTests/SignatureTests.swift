import Testing

@testable import FileStoreS3

/// The examples of AWS's page "Authenticating Requests: Using the Authorization Header" and of the one on query parameters, and one that another program signed.
@Suite("Signatures of requests", .timeLimit(.minutes(20))) struct SignatureTests {
    private static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    private static let signer = SignatureV4(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1")
    private static let time = S3Time(milliseconds: 1_369_353_600_000)

    private func signature(
        _ method: String, _ path: String, _ query: [(String, String)] = [], _ headers: [String: String] = [:],
        _ body: String = ""
    ) -> String {
        let payload = SignatureV4.digest(Array(body.utf8))
        var all = [
            "host": "examplebucket.s3.amazonaws.com", "x-amz-date": Self.time.stamp, "x-amz-content-sha256": payload,
        ]
        all.merge(headers) { $1 }
        return Self.signer.authorization(
            method: method, path: path, query: query, headers: all, payload: payload, time: Self.time)
    }

    @Test func `an object is read in part`() {
        #expect(SignatureV4.digest([]) == Self.empty)
        #expect(
            signature("GET", "/test.txt", [], ["range": "bytes=0-9"])
                == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
                + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    @Test func `an object is written`() {
        let headers = ["date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"]
        #expect(
            signature("PUT", "/test$file.text", [], headers, "Welcome to Amazon S3.")
                .hasSuffix("Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"))
    }

    @Test func `a bucket is asked for a property, and for a list`() {
        #expect(
            signature("GET", "/", [("lifecycle", "")])
                .hasSuffix("Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"))
        #expect(
            signature("GET", "/", [("prefix", "J"), ("max-keys", "2")])
                .hasSuffix("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
    }

    @Test func `a URL is the permission to get an object`() {
        #expect(
            Self.signer.urlQuery(
                path: "/test.txt", host: "examplebucket.s3.amazonaws.com", query: [], lifetime: 86_400, time: Self.time)
                == "X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }

    @Test func `characters of all kinds are signed as they are sent`() {
        let signed = signature(
            "PUT", "/a b/ä+/c", [("prefix", "x y/ß"), ("uploads", ""), ("a", "~=&")],
            ["x-amz-copy-source": "/b/k%20k"], "Welcome to Amazon S3.")
        #expect(signed.hasSuffix("Signature=6c98039da9c6c388188e019476e78a2d5094e97738ffd2d29bbca34ea600f7a0"))
    }
}
