#if TLS
    import CloudUnderTest
    import FaultyNetwork
    import Foundation
    import HTTPTransfer
    import Testing

    /// Tests of HTTPS with the built program.
    @Suite(.timeLimit(.minutes(10))) struct TLSServeTests {
        /// A cloud with HTTPS, and the files that it has its certificate from.
        private struct Setup {
            var folder: String
            var held: HeldPort
            var process: ChildProcess
            var endpoint: String { "https://127.0.0.1:\(held.number)" }

            func serve(_ identity: RawServer.Identity) throws {
                try identity.key.write(toFile: folder + "/key.pem", atomically: true, encoding: .utf8)
                try identity.certificate.write(toFile: folder + "/chain.pem", atomically: true, encoding: .utf8)
            }

            /// Asks for the cloud's health by a connection of its own.
            func health(trusting certificate: String) async throws -> HTTPClient.Failure.Kind? {
                let file = folder + "/trusted-\(UUID().uuidString).pem"
                try certificate.write(toFile: file, atomically: true, encoding: .utf8)
                do {
                    let request = HTTPClient.Request(method: "GET", url: endpoint + "/health")
                    let answer = try await HTTPClient(authoritiesFile: file).send(request)
                    #expect(answer.status == 200)
                    return nil
                } catch let failure as HTTPClient.Failure {
                    return failure.kind
                }
            }
        }

        private func withCloud(_ body: (Setup) async throws -> Void) async throws {
            let program = try #require(CloudProcess.program())
            let folder = NSTemporaryDirectory() + "/tls-serve-\(UUID().uuidString.prefix(8))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let held = try HeldPort()
            for (name, text) in [("key.pem", Certificates.here.key), ("chain.pem", Certificates.here.certificate)] {
                try text.write(toFile: folder + "/" + name, atomically: true, encoding: .utf8)
            }
            let process = try ChildProcess(
                [
                    program, "serve", "--data", folder + "/data", "--port", String(held.number), "--tls-certificate",
                    folder + "/chain.pem", "--tls-key", folder + "/key.pem",
                ], variables: ["HOME": folder, "WELKIN_CONFIG": ""], output: folder + "/log")
            defer { process.kill() }
            let setup = Setup(folder: folder, held: held, process: process)
            while try await setup.health(trusting: Certificates.authority) != nil {
                try #require(
                    process.isRunning, "\((try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? "")")
            }
            try await body(setup)
        }

        @Test func `a renewed certificate is served without a restart`() async throws {
            try await withCloud { setup in
                #expect(try await setup.health(trusting: Certificates.itself.certificate) == .notTrusted)
                try setup.serve(Certificates.itself)
                #expect(try await setup.health(trusting: Certificates.itself.certificate) == nil)
                #expect(try await setup.health(trusting: Certificates.authority) == .notTrusted)
            }
        }

        @Test func `a key without its certificate leaves the one from before in use`() async throws {
            try await withCloud { setup in
                let file = setup.folder + "/key.pem"
                try Certificates.itself.key.write(toFile: file, atomically: true, encoding: .utf8)
                #expect(try await setup.health(trusting: Certificates.authority) == nil)
                // Each state of the files is read once; no connection fails by it.
                let cut = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
                for broken in ["nothing", "", cut, "nothing again"] {
                    try broken.write(toFile: file, atomically: true, encoding: .utf8)
                    #expect(try await setup.health(trusting: Certificates.authority) == nil, "\(broken)")
                }
                try "nothing".write(toFile: setup.folder + "/chain.pem", atomically: true, encoding: .utf8)
                #expect(try await setup.health(trusting: Certificates.authority) == nil)
                let log = try String(contentsOfFile: setup.folder + "/log", encoding: .utf8)
                #expect(log.contains("the certificate from before stays in use"))
                try setup.serve(Certificates.itself)
                #expect(try await setup.health(trusting: Certificates.itself.certificate) == nil)
            }
        }

        @Test func `a device trusts the certificates that CLOUDKIT_CA_FILE names`() async throws {
            let program = try #require(CloudProcess.program())
            try await withCloud { setup in
                let file = setup.folder + "/authority.pem"
                try Certificates.authority.write(toFile: file, atomically: true, encoding: .utf8)
                var variables = ["HOME": setup.folder, "WELKIN_CONFIG": "", "XDG_DATA_HOME": setup.folder + "/share"]
                func sign(_ profile: String) async throws -> Machine.Outcome {
                    try await Machine.run(
                        [
                            program, "quickstart", "--endpoint", setup.endpoint, "--container",
                            "iCloud.com.example.tls",
                            "--profile", profile, "--rounds", "1000", "--data", setup.folder + "/data",
                        ], variables: variables, in: setup.folder)
                }
                let refused = try await sign("a")
                #expect(refused.status != 0)
                variables["CLOUDKIT_CA_FILE"] = setup.folder + "/missing.pem"
                let missing = try await sign("b")
                #expect(missing.status != 0)
                #expect(missing.remarks.contains("CLOUDKIT_CA_FILE"), "\(missing.remarks)")
                variables["CLOUDKIT_CA_FILE"] = file
                let accepted = try await sign("c")
                #expect(accepted.status == 0, "\(accepted.remarks)")
            }
        }
    }
#endif
