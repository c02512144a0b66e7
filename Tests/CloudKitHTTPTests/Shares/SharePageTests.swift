import Testing

/// The page that a user with a link sees in a browser.
@Suite(.timeLimit(.minutes(20))) struct SharePageTests {
    /// Shares a zone of Ada's and gives the link's GUID.
    private func share(_ cloud: TestCloud, permission: String, title: String, thumbnail: String = "AAAA") async throws
        -> String
    {
        let tokens = try await cloud.signIn()
        _ = try await cloud.client.post(
            TestCloud.target("zones/modify", "private", tokens),
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#)
        let fields =
            #""cloudkit.title":{"value":"\#(title)"},"cloudkit.thumbnailImageData":{"value":"\#(thumbnail)","type":"BYTES"}"#
        let record =
            #"{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share","publicPermission":"\#(permission)","fields":{\#(fields)}}"#
        let answer = try await cloud.client.post(
            TestCloud.target("records/modify", "private", tokens),
            #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":\#(record)}]}"#)
        return try #require(answer["records", "0", "shortGUID"] as? String, "\(answer.body)")
    }

    /// A PNG of one pixel.
    private static let pixel =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

    @Test
    func `B-SHR-07 the page of a public share shows title, thumbnail and how to open it, without scripts`()
        async throws
    {
        try await TestCloud.run { cloud in
            let guid = try await share(cloud, permission: "READ_ONLY", title: "Our <b>trip</b>", thumbnail: Self.pixel)
            let page = try await cloud.client.get("/share/" + guid, headers: ["Accept": "text/html"])
            #expect(page.status == 200)
            #expect(page.body.contains("Our &lt;b&gt;trip&lt;/b&gt;"))
            #expect(!page.body.contains("<b>trip"))
            #expect(page.body.contains("src=\"data:image/png;base64,\(Self.pixel)\""))
            #expect(page.body.contains("<pre id=\"command\">welkin open"))
            #expect(page.body.contains(TestCloud.container))
            // The scripts that show what is shared are pinned by their hashes.
            #expect(
                page.body.contains(
                    #/src="/welkin/1-[0-9a-f]{16}/share-viewer\.js" integrity="sha256-[A-Za-z0-9+/=]{44}"/#))
            #expect(page.body.contains(#/src="/share\.js" integrity="sha256-[A-Za-z0-9+/=]{44}"/#))
            // The button needs the script, which alone knows the part after the #: it is hidden without.
            #expect(page.body.contains("<div id=\"open\" hidden>"))
            #expect(page.headers["content-security-policy"]?.contains("img-src data:") == true)
            #expect(page.headers["content-security-policy"]?.contains("script-src 'self'") == true)
            #expect(page.headers["referrer-policy"] == "no-referrer")
            let script = try await cloud.client.get("/share.js")
            #expect(script.headers["content-type"] == "text/javascript; charset=UTF-8")
            // Text that is copied into a shell ends no quotes.
            #expect(script.body.contains(#"replaceAll("'", "%27")"#))
            let data = try await cloud.client.get("/share/" + guid, headers: ["Accept": "application/json"])
            #expect(data["containerIdentifier"] as? String == TestCloud.container)
            #expect(data["environment"] as? String == "development")
        }
    }

    @Test func `the page's own API token is for pages of the cloud, and for its container alone`() async throws {
        try await TestCloud.run { cloud in
            let guid = try await share(cloud, permission: "READ_ONLY", title: "Trip")
            let page = try await cloud.client.get("/share/" + guid)
            let found = try #require(page.body.firstMatch(of: #/data-token="([0-9a-f]{64})"/#))
            let tokens = TestCloud.Tokens(api: String(found.1))
            let body = #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#
            let target = TestCloud.target("records/resolve", "public", tokens)
            let answer = try await cloud.client.post(target, body)
            #expect(answer["results", "0", "containerIdentifier"] as? String == TestCloud.container)
            let stranger = try await cloud.client.post(target, body, headers: ["Origin": "https://app.example.com"])
            #expect(stranger.status == 401)
            for other in [
                target.replacing("development", with: "production"),
                target.replacing(TestCloud.container, with: "iCloud.com.example.other"),
            ] { #expect(try await cloud.client.post(other, body).status == 401) }
        }
    }

    @Test func `B-ACP-02 the page of a private share reveals nothing of it, and a wrong link is a page that says so`()
        async throws
    {
        try await TestCloud.run { cloud in
            let guid = try await share(cloud, permission: "NONE", title: "Secret", thumbnail: Self.pixel)
            let page = try await cloud.client.get("/share/" + guid)
            #expect(page.status == 200)
            #expect(!page.body.contains("Secret"))
            #expect(!page.body.contains("<img"))
            #expect(page.body.contains("Something is shared with you"))
            for wrong in ["/share/nothing", "/share/" + String(guid.dropLast())] {
                let answer = try await cloud.client.get(wrong)
                #expect(answer.status == 404)
                #expect(answer.body.contains("This link leads nowhere"))
                #expect(!answer.body.contains("share.js"))
            }
            #expect(try await cloud.client.get("/share/nothing", headers: ["Accept": "application/json"]).status == 404)
        }
    }

    @Test func `a thumbnail that is no image, and a title of nothing, are left out`() async throws {
        try await TestCloud.run { cloud in
            let guid = try await share(cloud, permission: "READ_WRITE", title: "  ", thumbnail: "PHNjcmlwdD4=")
            let page = try await cloud.client.get("/share/" + guid)
            #expect(!page.body.contains("<img"))
            #expect(page.body.contains("Something is shared with you"))
        }
    }
}
