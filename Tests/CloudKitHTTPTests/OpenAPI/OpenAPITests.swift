import Testing

@testable import CloudKitHTTP

/// The document of the API. That answers are as it says is checked wherever a test of this target gets one (`RawClient`).
@Suite(.timeLimit(.minutes(20))) struct OpenAPITests {
    @Test func `every endpoint is described, and the document is the same bytes every time`() async throws {
        for name in EndpointName.allCases where name != .unknown && name != .site {
            #expect(name.apiDescription != nil, "\(name.rawValue) is not described")
        }
        try await TestCloud.run { cloud in
            let first = try await cloud.client.get("/openapi.json")
            #expect(first.status == 200 && first.headers["content-type"] == "application/json; charset=UTF-8")
            #expect(first["openapi"] as? String == "3.1.0")
            #expect(try await cloud.client.get("/openapi.json").body == first.body)
            #expect(Array(first.body.utf8) == OpenAPIDocument.complete)
        }
    }

    @Test func `the paths of the document are those of the cloud, with their methods`() async throws {
        try await TestCloud.run { cloud in
            let token = try await cloud.operatorToken()
            var names: Set<String> = []
            for (path, methods) in APIDocument.complete.operations {
                let target = path.replacing("{container}", with: TestCloud.container)
                    .replacing("{environment}", with: "development").replacing("{database}", with: "public")
                    .replacing("{link}", with: "abc").replacing("{token}", with: "abc").replacing("{name}", with: "a")
                    .replacing("{address}", with: "abc").replacing("{release}", with: "1")
                let answer = try await cloud.client.send(
                    "OPTIONS", target, headers: ["Authorization": "Bearer " + token])
                let allowed = Set((answer.headers["allow"] ?? "").split(separator: ",").map { $0.filter { $0 != " " } })
                #expect(answer.status == 204, "\(path)")
                // HEAD goes with GET, and every endpoint answers OPTIONS.
                #expect(
                    methods.subtracting(["HEAD"]) == allowed.subtracting(["HEAD", "OPTIONS"]), "\(path): \(allowed)")
                names.insert(path)
            }
            #expect(names.count > 85)
        }
    }

    @Test func `a strict cloud documents what it has, and no more`() {
        let strict = APIDocument(OpenAPIDocument.strict).operations.map(\.path)
        let complete = APIDocument.complete.operations.map(\.path)
        #expect(Set(strict).isSubset(of: complete) && strict.count < complete.count)
        #expect(!strict.contains { $0.contains("keychain") })
        #expect(strict.contains("/database/1/{container}/{environment}/{database}/records/modify"))
    }

    @Test func `identifiers of operations and references to schemas are sound`() throws {
        var identifiers: Set<String> = []
        let document = APIDocument.complete.tree
        let paths = try #require(document["paths"])
        for path in paths.keys {
            for method in paths[path]?.keys ?? [] where method != "parameters" {
                let identifier = try #require(paths[path]?[method]?["operationId"]?.text)
                #expect(identifiers.insert(identifier).inserted, "\(identifier)")
            }
        }
        let schemas = Set(document["components"]?["schemas"]?.keys ?? [])
        for match in String(decoding: OpenAPIDocument.complete, as: UTF8.self).matches(of: /schemas\/([A-Za-z]+)"/) {
            #expect(schemas.contains(String(match.1)))
        }
    }

    @Test(arguments: [
        (#"{"a":1}"#, nil), (#"{"a":1,"b":["x","y"]}"#, nil), (#"{"a":1,"c":{"d":true}}"#, nil),
        (#"{"a":18446744073709551615}"#, nil), ("{}", "$: \"a\" is missing"),
        (#"{"a":1.5}"#, "$.a: is not of the type integer: 1.5"),
        (#"{"a":1,"z":2}"#, "$: z is not documented"),
        (#"{"a":1,"b":["x","q"]}"#, "$.b[1]: \"q\" is none of the choices"),
        (#"{"a":1,"b":"x"}"#, "$.b: is not of the type array: \"x\""),
        (#"{"a":1,"c":{"d":1}}"#, "$.c.d: is not of the type boolean: 1"), ("[]", "$: is not of the type object: []"),
    ])
    func `the checker of answers notices what is wrong`(value: String, problem: String?) throws {
        let schema = JSONSchema.answer([
            "a": .integer, "b?": .list(.string(choices: ["x", "y"])),
            "c?": .either([.answer(["d": .boolean]), .answer(["e": .text])]),
        ])
        let tree = try #require(JSONTree(String(decoding: try schema.json.bytes, as: UTF8.self)))
        let found = SchemaCheck(components: [:]).problem(try #require(JSONTree(value)), tree)
        #expect(found == problem)
    }
}
