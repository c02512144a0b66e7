import Foundation
import Hummingbird
import Logging

/// A server of the bare web framework that decodes a JSON object with `Codable` and returns it.
@main
struct BareEcho {
    /// A flat object of about 1 KiB, less work than a record's nested fields.
    struct Note: ResponseCodable {
        var recordName: String
        var title: String
        var count: Int
        var date: Double
        var payload: String
    }

    static func main() async throws {
        guard CommandLine.arguments.count == 2, let port = Int(CommandLine.arguments[1]) else {
            FileHandle.standardError.write(Data("usage: bare-echo PORT\n".utf8))
            exit(2)
        }
        let router = Router()
        router.post("echo") { request, context in
            try await request.decode(as: Note.self, context: context)
        }
        var logger = Logger(label: "bare-echo")
        logger.logLevel = .error
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)), logger: logger)
        try await application.runService()
    }
}
