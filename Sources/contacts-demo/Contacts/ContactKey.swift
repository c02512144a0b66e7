/// The fields of a contact, in the order in which they are shown; the raw values are the keys of its record.
enum ContactKey: String, CaseIterable, Hashable {
    case fullName, givenName, familyName, additionalNames, emails, phones, street, city, region, postalCode, country
    case birthday, organization, note, categories, revised
}
