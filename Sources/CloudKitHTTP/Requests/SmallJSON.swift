import CloudKitModel
import Foundation

/// JSON of bodies that are small and not about records.
enum SmallJSON {
    /// Decodes a body.
    ///
    /// - Throws: `badRequest`, without a word of the body.
    static func decode<Body: Decodable>(_ type: Body.Type, from bytes: [UInt8]) throws(RequestFailure) -> Body {
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch {
            throw RequestFailure(.badRequest, "BadRequestException: Unexpected input")
        }
    }

    /// Encodes a body, its keys in alphabetical order.
    static func encode(_ body: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        return Array(try encoder.encode(body))
    }
}
