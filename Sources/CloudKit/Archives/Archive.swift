import Foundation

/// The archive form of this framework's value types: one block of bytes under one key.
///
/// Only this one block is read from an archive, by readers that answer damage with nil.
enum Archive {
    static let key = "CloudKitArchive"

    /// The number of brackets that may be open at a time in a block: far more than any content has, and few enough for the stack of any
    /// thread.
    private static let nestingMax = 128

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
        guard let bytes = bytes(in: coder, key: key), nesting(of: bytes) <= nestingMax else { return nil }
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return try? decoder.decode(type, from: bytes)
    }

    /// Returns the content of an object in an archive of this framework, or of Apple's; nil when the archive does not describe one.
    static func content<Content: ArchivedContent>(_ type: Content.Type, from coder: NSCoder) -> Content? {
        decode(type, from: coder) ?? ArchivedObject(coder).flatMap { Content(apple: $0) }
    }

    private static func bytes(in coder: NSCoder, key: String) -> Data? {
        if let archived = ArchivedObject(coder) { return archived.data(key) }
        // More classes than the one wanted, because a coder may end the process at any other.
        guard coder.containsValue(forKey: key) else { return nil }
        return coder.decodeObject(of: plainClasses, forKey: key) as? NSData as Data?
    }

    /// Returns the largest number of brackets that are open at a time.
    private static func nesting(of bytes: Data) -> Int {
        var (depth, deepest) = (0, 0)
        var (isText, isEscaped) = (false, false)
        for byte in bytes {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = isText
            case UInt8(ascii: "\""): isText.toggle()
            case _ where isText: break
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                deepest = max(deepest, depth)
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
        }
        return deepest
    }

    /// Makes the unarchiving fail, in an initialiser that cannot: with an error, if the unarchiver reports errors.
    static func fail(_ coder: NSCoder) {
        guard coder.decodingFailurePolicy == .setErrorAndReturn else { return }
        // A missing value is the one error that a coder can be given from outside so that it reports it.
        _ = coder.decodeObject(forKey: "CloudKit: the archive does not describe such an object")
    }
}

/// The content of a class that is read from archives of this framework and of Apple's.
protocol ArchivedContent: Decodable {
    /// Creates the content of an object that Apple's framework archived; nil when it lacks what such an object has.
    init?(apple archived: ArchivedObject)
}
