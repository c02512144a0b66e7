import Foundation
import Testing

@testable import contacts_demo

@Suite(.timeLimit(.minutes(20))) struct VCardFileTests {
    private func file(_ lines: String..., end: String = "\r\n") -> VCardFile {
        VCardFile(Data((lines.joined(separator: end) + end).utf8))
    }

    private func contact(_ lines: String...) throws -> Contact {
        let text = (["BEGIN:VCARD", "VERSION:4.0", "FN:X"] + lines + ["END:VCARD"]).joined(separator: "\n")
        return Contact(try #require(VCardFile(Data(text.utf8)).cards.first))
    }

    @Test(arguments: ["\r\n", "\n"]) func `both line ends are read`(end: String) {
        let read = file("BEGIN:VCARD", "VERSION:4.0", "FN:Ada", "END:VCARD", end: end)
        #expect(read.cards.map { $0.first("FN")?.text } == ["Ada"])
        #expect(read.problems.isEmpty)
    }

    @Test func `folded lines are unfolded, also inside a character`() throws {
        var bytes = Array("BEGIN:VCARD\nVERSION:4.0\nFN:Zo".utf8)
        bytes += [0xC3, 0x0A, 0x20, 0xAB] + Array("\n  und\n\t Söhne\nEND:VCARD".utf8)
        let read = VCardFile(Data(bytes))
        #expect(read.problems.isEmpty)
        #expect(read.cards.first?.first("FN")?.text == "Zoë und Söhne")
    }

    @Test func `escapes, parameters and groups`() throws {
        let property = try VCardProperty(
            parsing: #"item1.tel;TYPE="voice,cell",work;PREF=2;LABEL=a^nb^'c^^:x\, y\; z\\n\n1"#, line: 7)
        #expect(property.group == "item1")
        #expect(property.name == "TEL")
        #expect(property.parameters["TYPE"] == ["voice,cell", "work"])
        #expect(property.parameters["LABEL"] == ["a\nb\"c^"])
        #expect(property.preference == 2)
        #expect(property.text == "x, y; z\\n\n1")
    }

    @Test func `a name is split into components, but not at escaped separators`() throws {
        let contact = try contact("N:O'Neil\\; Sons;Ada,Bea;;Dr.;")
        #expect(contact.familyName == "O'Neil; Sons")
        #expect(contact.givenName == "Ada Bea")
    }

    @Test func `the preferred address comes first, photographs are skipped`() throws {
        let contact = try contact(
            "EMAIL:second@example.com", "item1.EMAIL;PREF=1:first@example.com", "PHOTO:data:image/png;base64,AAAA",
            "NOTE:data:text/plain;base64,AAAA", "TEL;VALUE=uri;TYPE=cell:tel:+1-212-555-0100", "TEL;HOME:555 0101")
        #expect(contact.values[.emails] == .list(["first@example.com", "second@example.com"]))
        #expect(contact.values[.phones] == .list(["+1-212-555-0100", "555 0101"]))
        #expect(contact.values[.note] == nil)
    }

    @Test func `the other fields`() throws {
        let contact = try contact(
            "ADR;TYPE=home:;;Lane 1;Town;;12345;Land", "BDAY:19850412", "ORG:A;B\\, C", "NOTE:one\\ntwo",
            "CATEGORIES:a,b\\,c", "UID:urn:uuid:11111111-2222-4333-8444-555555555555", "REV:20240102T030405Z")
        #expect(contact.recordName == "11111111-2222-4333-8444-555555555555")
        #expect(contact.text(.street) == "Lane 1")
        #expect(contact.text(.country) == "Land")
        #expect(contact.text(.birthday) == "1985-04-12")
        #expect(contact.text(.organization) == "A – B, C")
        #expect(contact.text(.note) == "one\ntwo")
        #expect(contact.values[.categories] == .list(["a", "b,c"]))
        #expect(contact.values[.revised] == .date(Date(timeIntervalSince1970: 1_704_164_645)))
    }

    @Test(arguments: [
        ("19850412", "1985-04-12"), ("1985-04-12", "1985-04-12"), ("--0412", "--04-12"), ("circa 1800", "circa 1800"),
        ("19850412T101112Z", "1985-04-12"),
    ]) func `birthdays in their several forms`(text: String, day: String) {
        #expect(Contact.day(text) == day)
    }

    @Test func `a malformed card is skipped and reported with its line, the others are read`() {
        let read = file(
            "FN:outside", "BEGIN:VCARD", "VERSION:4.0", "FN:One", "no colon here", "END:VCARD",
            "BEGIN:VCARD", "VERSION:2.1", "FN:Old", "END:VCARD",
            "BEGIN:VCARD", "VERSION:4.0", "END:VCARD",
            "BEGIN:VCARD", "VERSION:4.0", "FN:Two", "END:VCARD",
            "BEGIN:VCARD", "VERSION:4.0", "FN:Unfinished", "BEGIN:VCARD", "FN:No version", "END:VCARD",
            "BEGIN:VCARD", "VERSION:4.0", "FN:Cut")
        #expect(read.cards.map { $0.first("FN")?.text } == ["Two"])
        #expect(read.problems.map(\.line) == [1, 5, 7, 11, 18, 21, 24])
    }

    @Test func `bytes that are not UTF-8 invalidate only their card`() {
        let good = Array("BEGIN:VCARD\nVERSION:4.0\nFN:Good\nEND:VCARD\n".utf8)
        let bad = Array("BEGIN:VCARD\nVERSION:4.0\nFN:".utf8) + [0xFF, 0xFE] + Array("\nEND:VCARD\n".utf8)
        let read = VCardFile(Data(good + bad + good))
        #expect(read.cards.count == 2)
        #expect(read.problems.map(\.line) == [7])
    }

    @Test func `cuts and flipped bytes never trap`() {
        let card = Array(
            #"BEGIN:VCARD\#nVERSION:4.0\#nitem1.FN;A="b:c^n";D:E\,\#n f\;\\g\#nN:a;b;c\#nEND:VCARD\#n"#.utf8)
        for cut in 0...card.count { _ = VCardFile(Data(card.prefix(cut))).cards.map(Contact.init) }
        for place in card.indices {
            for flip: UInt8 in [0x01, 0x20, 0x80] {
                var damaged = card
                damaged[place] ^= flip
                _ = VCardFile(Data(damaged)).cards.map(Contact.init)
            }
        }
    }

    @Test func `the sample file has 1,000 cards and no problem`() throws {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Examples/Contacts/contacts.vcf")
        let read = VCardFile(try Data(contentsOf: path))
        #expect(read.problems.isEmpty)
        let contacts = read.cards.map(Contact.init)
        #expect(contacts.count == 1000)
        #expect(Set(contacts.map(\.recordName)).count == 1000)
        #expect(contacts.allSatisfy { !$0.fullName.isEmpty && !$0.familyName.isEmpty && $0.values[.revised] != nil })
        #expect(contacts.filter { $0.familyName.hasPrefix("Mar") }.count == 44)
    }
}
