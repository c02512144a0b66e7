import Foundation

/// The addresses and phone numbers of an address book, for discovery: a file of vCards, or with one of them in a line.
package struct ContactsFile: Hashable, Sendable {
    /// The e-mail addresses, each once.
    package private(set) var emailAddresses: [String] = []
    /// The phone numbers as they are written, each once.
    package private(set) var phoneNumbers: [String] = []

    /// The bytes of the largest file that is read.
    package static let bytesMax = 16 * 1024 * 1024

    /// Reads a file.
    ///
    /// - Throws: `DeviceConfigurationError.contactsUnreadable`.
    package init(path: String) throws(DeviceConfigurationError) {
        guard let data = FileManager.default.contents(atPath: path), data.count <= Self.bytesMax else {
            throw .contactsUnreadable(path)
        }
        self.init(text: String(decoding: data, as: UTF8.self))
    }

    /// Reads the contents of a file; lines that hold neither an address nor a number are left out.
    package init(text: String) {
        var seen: Set<String> = []
        for line in text.split(whereSeparator: \.isNewline) {
            guard let value = Self.value(of: line), seen.insert(value).inserted else { continue }
            if value.contains("@") {
                emailAddresses.append(value)
            } else if value.contains(where: \.isNumber) {
                phoneNumbers.append(value)
            }
        }
    }

    /// Returns the value of a line, also of a vCard's `EMAIL` or `TEL`; nil for its other properties.
    private static func value(of line: Substring) -> String? {
        let line = line.trimmingCharacters(in: .whitespaces)
        guard let colon = line.firstIndex(of: ":") else { return line.isEmpty ? nil : line }
        // `item1.EMAIL;TYPE=home:ada@example.com`, `TEL;VALUE=uri:tel:+44-1632-960083`
        let property = line[..<colon].split(separator: ";").first?.split(separator: ".").last?.uppercased()
        guard property == "EMAIL" || property == "TEL" else { return nil }
        let value = line[line.index(after: colon)...]
        return String(value.hasPrefix("tel:") ? value.dropFirst(4) : value)
    }
}
