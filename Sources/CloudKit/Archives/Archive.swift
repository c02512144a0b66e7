import Foundation

/// The archive form of this framework's value types: one block of bytes under one key.
///
/// An unarchiver ends the process when a class in an archive is not the expected one. Therefore only this one block is
/// read from an archive, by a reader that answers damage with nil.
enum Archive {
    static let key = "CloudKitArchive"

    private static let plainClasses: [AnyClass] = [
        NSData.self, NSString.self, NSNumber.self, NSDate.self, NSArray.self, NSDictionary.self,
    ]

    static func encode<Content: Encodable>(_ content: Content, into coder: NSCoder, key: String = key) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        // Content is made of strings, numbers and bytes, which always encode.
        guard let bytes = try? encoder.encode(content) else { return }
        coder.encode(bytes as NSData, forKey: key)
    }

    /// nil: this archive does not hold such content, or is damaged.
    static func decode<Content: Decodable>(_ type: Content.Type, from coder: NSCoder, key: String = key) -> Content? {
        // More classes than the one wanted, so that a wrong one is an answer and not the end.
        guard coder.containsValue(forKey: key),
            let bytes = coder.decodeObject(of: plainClasses, forKey: key) as? NSData as Data?
        else { return nil }
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return try? decoder.decode(type, from: bytes)
    }
}
