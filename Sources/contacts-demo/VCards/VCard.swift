import CloudKit

/// One card: the properties between `BEGIN:VCARD` and `END:VCARD`.
struct VCard: Hashable {
    /// The line of `BEGIN:VCARD`, from 1.
    var line: Int
    var properties: [VCardProperty]

    /// Returns the properties of one name, in order of preference.
    func all(_ name: String) -> [VCardProperty] {
        properties.filter { $0.name == name && !$0.isBinary }.enumerated()
            .sorted { ($0.element.preference, $0.offset) < ($1.element.preference, $1.offset) }
            .map(\.element)
    }

    func first(_ name: String) -> VCardProperty? { all(name).first }

    /// Checks the card's version and its mandatory name.
    ///
    /// - Throws: `VCardProblem`, with the line of the card.
    func check() throws(VCardProblem) {
        switch first("VERSION")?.value.trimmingCharacters(in: .whitespaces) {
        case "4.0", "3.0": break
        case nil: throw VCardProblem(line: line, reason: "the card states no VERSION")
        case let version?:
            throw VCardProblem(line: line, reason: "vCard \(version.prefix(8)) is not supported, only 4.0 and 3.0")
        }
        guard let name = first("FN"), !name.text.trimmingCharacters(in: .whitespaces).isEmpty else {
            throw VCardProblem(line: line, reason: "the card has no FN, the name every card must have")
        }
    }
}
