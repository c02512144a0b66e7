import CloudKitModel
import Testing

@Suite struct PhoneNumberTests {
    @Test(arguments: [
        ("+441632960083", "+441632960083"), ("+44 1632 960-083", "+441632960083"),
        ("0044 (0)1632/960.083", "+441632960083"), ("+1 (555) 010-0123", "+15550100123"),
    ])
    func `B-PRT-05 a number with its country code has one form`(text: String, form: String) {
        #expect(PhoneNumber(text)?.normalised == form)
    }

    @Test(arguments: [
        "", "+", "01632 960083", "5550100123", "+123456", "+1234567890123456", "+0123456789", "+44x1632",
        "4+41632960083",
    ])
    func `B-PRT-05 other texts are no number`(text: String) {
        #expect(PhoneNumber(text) == nil)
        #expect(LookupInfo(phoneNumber: text).normalisedPhone == text)
    }
}
