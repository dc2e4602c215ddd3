/* Whether this system runs programs for that machine by itself. */
int main(void)
{
    return 0;
}
