import CloudUnderTest
import Foundation
import Testing

/// Tests of the settings of `welkin serve` with the built program.
@Suite(.timeLimit(.minutes(10))) struct ConfigCommandTests {
    private func welkin(
        _ arguments: String..., variables: [String: String] = [:], in folder: String
    ) async throws -> Machine.Outcome {
        let program = try #require(CloudProcess.program())
        return try await Machine.run(
            [program] + arguments, variables: ["HOME": folder, "WELKIN_CONFIG": ""].merging(variables) { $1 },
            in: folder)
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "/settings-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    @Test func `the example is a file that the check accepts`() async throws {
        try await withFolder { folder in
            let example = try await welkin(
                "config", "example", "--set", "data=/var/lib/welkin", "--set", "port=4711", in: folder)
            #expect(example.status == 0, "\(example.remarks)")
            #expect(example.output.contains("\n#log-days = 30\n"))
            try example.output.write(toFile: folder + "/welkin.toml", atomically: true, encoding: .utf8)
            let check = try await welkin("config", "check", "--config", folder + "/welkin.toml", in: folder)
            #expect(check.status == 0, "\(check.remarks)")
            #expect(check.output.contains(#"data = "/var/lib/welkin""#))
            #expect(check.output.contains("port = 4711"))
            let unknown = try await welkin("config", "example", "--set", "prot=1", in: folder)
            #expect(unknown.status != 0)
        }
    }

    @Test func `the check shows each setting with its place, and no secret`() async throws {
        try await withFolder { folder in
            let file = folder + "/welkin.toml"
            try """
            log-days = 3
            smtp-url = "smtps://user:geheim@mail.example.com:465"
            smtp-from = "cloud@example.com"
            public-url = "https://cloud.example.com"
            oidc-issuer = "https://id.example.com/realms/work"
            oidc-client-id = "welkin"
            oidc-client-secret-file = "\(folder)/oidc-secret"
            """.write(toFile: file, atomically: true, encoding: .utf8)
            try "sehr-geheim".write(toFile: folder + "/oidc-secret", atomically: true, encoding: .utf8)
            let check = try await welkin(
                "config", "check", "--", "--host", "0.0.0.0",
                variables: ["WELKIN_CONFIG": file, "WELKIN_SIGN_UP": "closed"], in: folder)
            #expect(check.status == 0, "\(check.remarks)")
            let lines = check.output.split(separator: "\n").map {
                $0.split(separator: "#").map { $0.filter { $0 != " " } }
            }
            #expect(lines.contains(["log-days=3", "line1ofthefile"]))
            #expect(lines.contains(["sign-up=\"closed\"", "WELKIN_SIGN_UP"]))
            #expect(lines.contains(["host=\"0.0.0.0\"", "commandline"]))
            #expect(lines.contains(["keep-deletions=30", "default"]))
            #expect(!check.output.contains("geheim"))
            #expect(check.output.contains("mail.example.com"))
            #expect(check.output.contains(#"oidc-issuer = "https://id.example.com/realms/work""#))
            #expect(check.output.contains("oidc-client-secret-file"))
        }
    }

    @Test(arguments: [
        ("prot = 1", "did you mean `port`?"), ("port = ", "line 1: expected a value"),
        ("port = 70000", "--port is 0 to 65535"),
        ("oidc-issuer = \"https://id.example.com\"", "--oidc-issuer and --oidc-client-id go together"),
        ("oidc-issuer = \"https://id.example.com\"\noidc-client-id = \"a\"", "--oidc-issuer needs --public-url"),
        (
            "oidc-issuer = \"http://id.example.com\"\noidc-client-id = \"a\"\npublic-url = \"https://a.example\"",
            "--oidc-issuer begins with https://"
        ),
        ("behind-proxy = 1", "use true or false"), ("[log]\ndays = 3", "tables are not used"),
    ])
    func `a mistake in the file is reported by the check and by serve`(text: String, words: String) async throws {
        try await withFolder { folder in
            let file = folder + "/welkin.toml"
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let check = try await welkin("config", "check", "--config", file, in: folder)
            #expect(check.status != 0)
            #expect(check.remarks.contains(words), "\(check.remarks)")
            let serve = try await welkin("serve", "--config", file, "--data", folder + "/data", in: folder)
            #expect(serve.status != 0)
            #expect(serve.remarks.contains(words), "\(serve.remarks)")
            #expect(!FileManager.default.fileExists(atPath: folder + "/data"))
        }
    }

    #if TLS
        private static let (missingFile, wrongFile) = ("/nowhere/chain.pem", "are not a certificate chain")
    #else
        private static let (missingFile, wrongFile) = ("was built without TLS", "was built without TLS")
    #endif

    @Test(arguments: [
        ("log-days = 3\nbackup-every = \"1 hour\"", "`backup-every` is set in line 2 of the file"),
        ("tls-certificate = \"/nowhere/chain.pem\"\ntls-key = \"/nowhere/key.pem\"", missingFile),
        ("tls-certificate = \"FOLDER/welkin.toml\"\ntls-key = \"FOLDER/welkin.toml\"", wrongFile),
        (
            "backup = \"s3://bucket/prefix\"\nbackup-bucket-file = \"/nowhere/bucket\"",
            "`backup-bucket-file` (line 2 of the file) names a file that does not exist: /nowhere/bucket"
        ),
    ])
    func `the check names the line of a wrong value, and looks at the files that settings name`(
        text: String, words: String
    ) async throws {
        try await withFolder { folder in
            let file = folder + "/welkin.toml"
            try text.replacing("FOLDER", with: folder).write(toFile: file, atomically: true, encoding: .utf8)
            let check = try await welkin("config", "check", "--config", file, in: folder)
            #expect(check.status != 0)
            #expect(check.remarks.contains(words), "\(check.remarks)")
            #expect(!check.remarks.contains("Usage"), "\(check.remarks)")
        }
    }

    @Test func `the version names the format of stores`() async throws {
        try await withFolder { folder in
            let version = try await welkin("--version", in: folder)
            #expect(version.output.contains("store format 3"), "\(version.output)")
        }
    }
}
