import CloudKit

/// A parsed file of vCards: the valid cards, and the problems of the others.
struct VCardFile {
    private(set) var cards: [VCard] = []
    private(set) var problems: [VCardProblem] = []

    /// Reads every card of the file; malformed ones are skipped and reported.
    init(_ data: Data) {
        for (line, content) in VCardLines(data) {
            guard let content else {
                skipCard(VCardProblem(line: line, reason: "not UTF-8"))
                continue
            }
            if content.allSatisfy(\.isWhitespace) { continue }
            do throws(VCardProblem) {
                try take(VCardProperty(parsing: content, line: line))
            } catch {
                skipCard(error)
            }
        }
        if let open { problems.append(VCardProblem(line: open.card.line, reason: "the card never ends")) }
    }

    private struct OpenCard {
        var card: VCard
        var problem: VCardProblem?
    }

    /// The card that is being read.
    private var open: OpenCard?

    private mutating func take(_ property: VCardProperty) throws(VCardProblem) {
        let isFrame = property.value.trimmingCharacters(in: .whitespaces).uppercased() == "VCARD"
        switch (property.name, open) {
        case ("BEGIN", let unfinished) where isFrame:
            if let unfinished {
                problems.append(VCardProblem(line: unfinished.card.line, reason: "the card never ends"))
            }
            open = OpenCard(card: VCard(line: property.line, properties: []))
        case ("END", let finished?) where isFrame:
            open = nil
            if let problem = finished.problem { throw problem }
            try finished.card.check()
            cards.append(finished.card)
        case (_, nil):
            throw VCardProblem(line: property.line, reason: "\(property.name) is outside of a card")
        default:
            open?.card.properties.append(property)
        }
    }

    /// Marks the open card as skipped, with the first problem; outside of a card only reports the problem.
    private mutating func skipCard(_ problem: VCardProblem) {
        guard open != nil else {
            problems.append(problem)
            return
        }
        if open?.problem == nil { open?.problem = problem }
    }
}
